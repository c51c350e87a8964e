package weir

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// Headers are those that a gate sends with this answer. None if no limit decided or is exceeded.
func (a *Answer) Headers() http.Header {
	headers := http.Header{}
	if a.Limit != nil && a.Remaining != nil {
		limit, remaining := decimal(*a.Limit), decimal(*a.Remaining)
		headers.Set("X-RateLimit-Limit", limit)
		headers.Set("X-RateLimit-Remaining", remaining)
		// A quota that never renews has no reset and no window.
		window, until := "", ""
		if a.ResetAfterMS != nil {
			reset := seconds(*a.ResetAfterMS, 0)
			headers.Set("X-RateLimit-Reset", reset)
			until = ";t=" + reset
		}
		if name, windowMS := a.policy(); isQuotable(name) {
			if windowMS > 0 {
				window = ";w=" + seconds(windowMS, 1)
			}
			headers.Set("RateLimit-Policy", `"`+name+`";q=`+limit+window)
			headers.Set("RateLimit", `"`+name+`";r=`+remaining+until)
		}
	}
	if !a.Allowed && a.RetryAfterMS != nil {
		headers.Set("Retry-After", seconds(*a.RetryAfterMS, 1))
		headers.Set("X-RateLimit-Retry-After", seconds(*a.RetryAfterMS, 1))
	}
	if over := overOf([]*Answer{a}); over != "" {
		headers.Set(overHeader, over)
	}
	return headers
}

// overOf are the exceeded rules in the mode "report", each once, as a header lists them.
func overOf(answers []*Answer) string {
	var names []string
	known := map[string]bool{}
	for _, answer := range answers {
		for _, name := range answer.Over {
			if isQuotable(name) && !known[name] {
				known[name] = true
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ")
}

// decided are the answers of the limits of one request.
type decided struct {
	// Those whose headers are sent, in order.
	shown []*Answer
	last  *Answer
}

type decidedKey struct{}

// AnswerOf is the answer of the limit that decided last about the request with this context; nil if none did.
func AnswerOf(ctx context.Context) *Answer {
	if found, is := ctx.Value(decidedKey{}).(*decided); is {
		return found.last
	}
	return nil
}

// WithAnswer is a context in which AnswerOf finds the answer: for the interceptors of other protocols.
func WithAnswer(ctx context.Context, answer *Answer) context.Context {
	return withAnswer(ctx, answer, false)
}

// withAnswer adds an answer to those of a request.
func withAnswer(ctx context.Context, answer *Answer, shown bool) context.Context {
	found, is := ctx.Value(decidedKey{}).(*decided)
	if !is {
		found = &decided{}
		ctx = context.WithValue(ctx, decidedKey{}, found)
	}
	found.last = answer
	if shown {
		found.shown = append(found.shown, answer)
	}
	return ctx
}

// setHeaders replaces the headers of the limits of a request. RateLimit and RateLimit-Policy are lists in the order of the answers, and
// X-RateLimit-Over names the rules of all. The others are those of the refusal, or of the answer with the least left, the first one of equals.
func setHeaders(headers http.Header, r *http.Request, answer *Answer, shown bool) {
	found := r.Context().Value(decidedKey{}).(*decided)
	var chosen *Answer
	if shown && !answer.Allowed {
		chosen = answer
	}
	lists := map[string][]string{}
	for _, one := range found.shown {
		for _, name := range listHeaders {
			lists[name] = append(lists[name], one.Headers()[name]...)
		}
		if answer.Allowed && (chosen == nil || left(one) < left(chosen)) {
			chosen = one
		}
	}
	if chosen != nil {
		for _, name := range singleHeaders {
			headers.Del(name)
		}
		for name, values := range chosen.Headers() {
			headers[name] = values
		}
	}
	for name, items := range lists {
		if len(items) > 0 {
			headers.Set(name, strings.Join(items, ", "))
		}
	}
	if over := overOf(found.shown); over != "" {
		headers.Set(overHeader, over)
	}
	if retry := answer.Headers().Get("Retry-After"); retry != "" {
		headers.Set("Retry-After", retry)
	}
}

// By their names in a map of net/http.
var (
	listHeaders   = []string{http.CanonicalHeaderKey("RateLimit-Policy"), http.CanonicalHeaderKey("RateLimit")}
	overHeader    = http.CanonicalHeaderKey("X-RateLimit-Over")
	singleHeaders = []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Retry-After"}
)

func left(answer *Answer) int64 {
	if answer.Remaining == nil {
		return math.MaxInt64
	}
	return *answer.Remaining
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
