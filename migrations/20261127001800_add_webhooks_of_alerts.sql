-- The webhooks of an alert after the first, in `webhook_id`. The application refuses to delete a webhook that an alert names.
SET LOCAL lock_timeout = '3s';

ALTER TABLE alerts ADD COLUMN more_webhook_ids uuid[] NOT NULL DEFAULT '{}';
