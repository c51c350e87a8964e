package weir

import (
	"context"
	"log"
	"os"
	"strings"
	"testing"
	"time"
)

func TestOptionsThatMatterMustBeGiven(t *testing.T) {
	right := Options{URL: "http://localhost:1", Key: "k", OnError: Deny}
	if _, err := New(right); err != nil {
		t.Fatal(err)
	}
	wrong := map[string][]func(*Options){
		"OnError": {
			func(o *Options) { o.OnError = nil },
			func(o *Options) { o.OnError = Choice("open") },
			func(o *Options) { o.OnError = OnErrorFunc(nil) },
		},
		"URL":         ofURLs("localhost:1", "ftp://a", "", "http://a/?token=b", "http://user:password@a", "http://"),
		"Key":         {func(o *Options) { o.Key = "" }, func(o *Options) { o.Key = "a\nb" }, func(o *Options) { o.Key = "ä" }},
		"Timeout":     {func(o *Options) { o.Timeout = -1 }, func(o *Options) { o.Timeout = time.Minute + 1 }},
		"CacheSize":   {func(o *Options) { o.CacheSize = 1_000_001 }},
		"MaxInFlight": {func(o *Options) { o.MaxInFlight = -1 }, func(o *Options) { o.MaxInFlight = 65 }},
		"MaxWaiting":  {func(o *Options) { o.MaxWaiting = 1_000_001 }},
		"RetrySpread": {func(o *Options) { o.RetrySpread = time.Minute + 1 }},
	}
	for name, changes := range wrong {
		for nth, change := range changes {
			options := right
			change(&options)
			if _, err := New(options); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s, row %d: %v", name, nth, err)
			}
		}
	}
}

func ofURLs(texts ...string) []func(*Options) {
	var changes []func(*Options)
	for _, text := range texts {
		text := text
		changes = append(changes, func(o *Options) { o.URL = text })
	}
	return changes
}

func TestCachedDenialCountsDownAndEndsWhenThePermissionDoes(t *testing.T) {
	position := positionOf(t, "a denial is repeated as the gate permits")
	start := time.Now()
	now := start
	weir := client(t, Options{URL: stub(t, position, run+"-clock"), now: func() time.Time { return now }})
	for _, one := range []struct {
		ms              int64
		allowed, cached bool
		retryAfterMS    int64
	}{{0, false, false, 60_000}, {999, false, true, 59_001}, {1000, true, false, 0}} {
		now = start.Add(milliseconds(one.ms))
		answer, err := weir.Check(context.Background(), CheckRequest{Namespace: "a"})
		if err != nil || answer.Allowed != one.allowed || answer.Cached != one.cached || *answer.RetryAfterMS != one.retryAfterMS {
			t.Errorf("after %d ms: %+v, %v", one.ms, answer, err)
		}
		// What a caller does with its answer changes no later one.
		answer.DeniedBy = append(answer.DeniedBy[:0], "changed")
	}
}

func TestForwardedAddressCountsOnlyBehindTheStatedNumberOfProxies(t *testing.T) {
	const peer = "203.0.113.9:4711"
	hops := func(count int) AddressOptions { return AddressOptions{TrustedHops: count} }
	bits := func(count int) AddressOptions { return AddressOptions{IPv6Prefix: count} }
	for _, one := range []struct {
		peer      string
		forwarded []string
		options   AddressOptions
		expected  string
	}{
		{peer, []string{"1.1.1.1"}, hops(0), "203.0.113.9"},
		{peer, []string{"1.1.1.1, 198.51.100.7"}, hops(1), "198.51.100.7"},
		{peer, []string{"1.1.1.1", "198.51.100.7"}, hops(1), "198.51.100.7"},
		{peer, []string{"1.1.1.1, 198.51.100.7, 10.0.0.1"}, hops(2), "198.51.100.7"},
		{peer, []string{"198.51.100.7"}, hops(3), "198.51.100.7"},
		{peer, []string{"garbage"}, hops(1), "203.0.113.9"},
		{peer, []string{"01.1.1.1"}, hops(1), "203.0.113.9"},
		{peer, nil, hops(1), "203.0.113.9"},
		{"203.0.113.9", nil, hops(0), "203.0.113.9"},
		{"10.0.0.1:80", []string{"198.51.100.7:4711"}, hops(1), "198.51.100.7"},
		{"10.0.0.1:80", []string{"[2001:db8:1:2:3::9]:443"}, hops(1), "2001:db8:1:2::/64"},
		{"[::ffff:203.0.113.9]:80", nil, hops(0), "203.0.113.9"},
		{"2001:DB8:0:0:1:0:0:1", nil, bits(128), "2001:db8::1:0:0:1"},
		{"[2001:db8:1234:5678::1]:80", nil, bits(56), "2001:db8:1234:5600::/56"},
		{"[fe80::1%eth0]:80", nil, hops(0), "fe80::/64"},
		{"::1", nil, hops(0), "::/64"},
	} {
		address, err := ClientAddress(one.peer, one.forwarded, one.options)
		if err != nil || address != one.expected {
			t.Errorf("%s behind %v: %s, %v", one.peer, one.forwarded, address, err)
		}
	}
	for peer, options := range map[string]AddressOptions{"": hops(0), "@": hops(1), "1::2::3": hops(0), "1.1.1.1": hops(-1), "1.1.1.2": bits(31)} {
		if address, err := ClientAddress(peer, nil, options); err == nil {
			t.Errorf("%q has the address %s", peer, address)
		}
	}
}

func TestMisuseOfForwardedAddressesIsLoggedOnce(t *testing.T) {
	warned.Range(func(text, _ any) bool { warned.Delete(text); return true })
	var logged strings.Builder
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	ask := func(forwarded []string, options AddressOptions) {
		for range [2]int{} {
			if _, err := ClientAddress("203.0.113.9:4711", forwarded, options); err != nil {
				t.Error(err)
			}
		}
	}
	misused := []struct {
		forwarded []string
		hops      int
		begin     string
	}{
		{[]string{"1.1.1.1"}, 0, "X-Forwarded-For is ignored"},
		{nil, 1, "X-Forwarded-For of a request has fewer addresses"},
		{[]string{"1.1.1.1, 172.16.0.3"}, 1, "the address of X-Forwarded-For that counts is a private one"},
	}
	for _, one := range misused {
		ask(one.forwarded, AddressOptions{TrustedHops: one.hops, NoWarnings: true})
	}
	ask([]string{"198.51.100.7"}, AddressOptions{TrustedHops: 1})
	expect(t, logged.Len() == 0, logged.String())
	for _, one := range misused {
		logged.Reset()
		ask(one.forwarded, AddressOptions{TrustedHops: one.hops})
		text := logged.String()
		right := strings.Contains(text, "weir: "+one.begin) && strings.Contains(text, "TrustedHops") && strings.Contains(text, "(NoWarnings: true silences this)")
		expect(t, right && strings.Count(text, "\n") == 1, text)
	}
}

func TestValuesThatAGateRefusesBecomeTheirDigest(t *testing.T) {
	longest := strings.Repeat("ü", 256)
	safe := SafeAttributes(map[string]string{
		"a": "plain", "b": longest + "ü", "c": "nul\x00", "d": "\xff", "e": longest, "f": "\u0085",
	})
	if safe["a"] != "plain" || safe["e"] != longest {
		t.Errorf("%v", safe)
	}
	for _, name := range []string{"b", "c", "d", "f"} {
		if value := safe[name]; !strings.HasPrefix(value, "sha256:") || len(value) != len("sha256:")+64 {
			t.Errorf("%s is %q", name, value)
		}
	}
}
