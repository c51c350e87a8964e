package weir

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// SignatureTolerance is the greatest difference between the clocks of Weir and of the receiver.
const SignatureTolerance = 5 * time.Minute

// More than Weir sends: one, and two while a secret is replaced.
const signaturesMax = 8

// IsFromWeir is whether Weir sent this message (a deferred job or an alert) lately and nobody changed it: whether one of its signatures was
// made with the secret of the webhook. The body is what arrived, not yet parsed. A message can arrive twice: remember its `webhook-id`. The
// error is that of a text which is no secret.
func IsFromWeir(secret string, header http.Header, body []byte) (bool, error) {
	return isFromWeirAt(time.Now(), secret, header, body)
}

func isFromWeirAt(now time.Time, secret string, header http.Header, body []byte) (bool, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return false, errors.New("weir: secret: the secret of a webhook is needed")
	}
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseUint(timestamp, 10, 48)
	if err != nil || now.Sub(time.Unix(int64(seconds), 0)).Abs() > SignatureTolerance {
		return false, nil
	}
	code := hmac.New(sha256.New, key)
	code.Write([]byte(id + "." + timestamp + "."))
	code.Write(body)
	expected := code.Sum(nil)
	for at, signature := range strings.Split(header.Get("webhook-signature"), " ") {
		given, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(signature, "v1,"))
		if at < signaturesMax && strings.HasPrefix(signature, "v1,") && err == nil && hmac.Equal(given, expected) {
			return true, nil
		}
	}
	return false, nil
}
