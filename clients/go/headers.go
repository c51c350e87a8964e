package weir

import (
	"net/http"
	"strconv"
)

// Headers are those that a gate sends with this answer. None if no enforced limit decided.
func (a *Answer) Headers() http.Header {
	headers := http.Header{}
	if a.Limit != nil && a.Remaining != nil && a.ResetAfterMS != nil {
		limit, remaining, reset := decimal(*a.Limit), decimal(*a.Remaining), seconds(*a.ResetAfterMS, 0)
		headers.Set("X-RateLimit-Limit", limit)
		headers.Set("X-RateLimit-Remaining", remaining)
		headers.Set("X-RateLimit-Reset", reset)
		if name, windowMS := a.policy(); isQuotable(name) {
			headers.Set("RateLimit-Policy", `"`+name+`";q=`+limit+";w="+seconds(windowMS, 1))
			headers.Set("RateLimit", `"`+name+`";r=`+remaining+";t="+reset)
		}
	}
	if !a.Allowed && a.RetryAfterMS != nil {
		headers.Set("Retry-After", seconds(*a.RetryAfterMS, 1))
		headers.Set("X-RateLimit-Retry-After", seconds(*a.RetryAfterMS, 1))
	}
	return headers
}

// policy is the name and the window of what decides: the code, or a rule.
func (a *Answer) policy() (name string, windowMS int64) {
	if a.Code != "" {
		return a.Code, 1000
	}
	for _, limit := range a.Limits {
		if a.isDecidedBy(limit) {
			return limit.Rule, limit.WindowMS
		}
	}
	return "", 0
}

// isDecidedBy is whether the numbers of this limit are those of the whole answer.
func (a *Answer) isDecidedBy(limit LimitAnswer) bool {
	return limit.Mode == "enforce" && limit.Limit == *a.Limit &&
		equal(limit.Remaining, a.Remaining) && equal(limit.ResetAfterMS, a.ResetAfterMS) &&
		(a.Allowed || equal(limit.RetryAfterMS, a.RetryAfterMS))
}

func equal(a, b *int64) bool { return a == b || (a != nil && b != nil && *a == *b) }

// seconds rounds up, to this number at least.
func seconds(ms, least int64) string {
	count := (ms + 999) / 1000
	if count < least {
		count = least
	}
	return decimal(count)
}

func decimal(number int64) string { return strconv.FormatInt(number, 10) }

// isQuotable is whether a header can carry the name in quotes.
func isQuotable(name string) bool {
	for at := 0; at < len(name); at++ {
		if name[at] < ' ' || name[at] > '~' || name[at] == '"' || name[at] == '\\' {
			return false
		}
	}
	return name != ""
}
