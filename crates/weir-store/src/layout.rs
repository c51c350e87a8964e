//! The layout of counters in Redis, stored beside the version of the rulebook.

use weir_domain::counter::Layout;

use crate::error::StoreError;
use crate::store::Store;

impl Store {
    /// Refuses a process whose layout of counters is not that of the installation: it would count in other keys.
    pub async fn assert_layout(&self, own: Layout) -> Result<(), StoreError> {
        let row = sqlx::query!(
            "-- store.assert_layout
            SELECT buckets, epoch FROM rulebook_versions"
        )
        .fetch_one(&mut self.open("BEGIN READ ONLY").await?)
        .await?;
        let number = |stored: i16| u16::try_from(stored).unwrap_or_default();
        let stored = Layout { buckets: number(row.buckets), epoch: number(row.epoch) };
        if stored == own { Ok(()) } else { Err(StoreError::OtherLayout { stored, own }) }
    }

    /// The regions of the installation, in their JSON form.
    pub async fn regions(&self) -> Result<String, StoreError> {
        let regions = sqlx::query_scalar!(
            "-- store.regions
            SELECT regions::text AS \"regions!\" FROM installation"
        )
        .fetch_one(&mut self.open("BEGIN READ ONLY").await?)
        .await?;
        Ok(regions)
    }
}
