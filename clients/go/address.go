package weir

import (
	"errors"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
)

// Unmatched is the value of Route for a request that no route matches. Its path would be a new subject each time.
const Unmatched = "unmatched"

// AddressOptions states how an address is found.
type AddressOptions struct {
	// TrustedHops is the number of proxies before this server that append to X-Forwarded-For. With 0 the header is ignored: anybody can
	// send it.
	TrustedHops int
	// NoWarnings silences the reports of a misuse of these options, which are logged once each.
	NoWarnings bool
	// IPv6Prefix is the prefix length by which IPv6 addresses are counted, 32 to 128; 64, which is what one customer has, if 0.
	IPv6Prefix int
}

// IP is the address of the client. X-Forwarded-For is read only with TrustedHops.
func IP(r *http.Request, options AddressOptions) (string, error) {
	return ClientAddress(r.RemoteAddr, r.Header.Values("X-Forwarded-For"), options)
}

// Route is the pattern that the multiplexer matches, such as "/users/"; Unmatched if there is none.
func Route(mux *http.ServeMux, r *http.Request) string {
	if _, pattern := mux.Handler(r); pattern != "" {
		return pattern
	}
	return Unmatched
}

// ClientAddress is the address to count by: of the peer, or as the outermost trusted proxy saw it. forwardedFor are the values of
// X-Forwarded-For, in order.
func ClientAddress(peer string, forwardedFor []string, options AddressOptions) (string, error) {
	if options.IPv6Prefix == 0 {
		options.IPv6Prefix = 64
	}
	if options.TrustedHops < 0 || options.IPv6Prefix < 32 || options.IPv6Prefix > 128 {
		return "", errors.New("weir: TrustedHops: 0 or more; IPv6Prefix: 32 to 128")
	}
	hops := addressesOf(forwardedFor)
	seen := ""
	if len(hops) > 0 && options.TrustedHops > 0 {
		at := len(hops) - options.TrustedHops
		if at < 0 {
			at = 0
		}
		seen = hops[at]
	}
	if !options.NoWarnings {
		warnOfMisuse(len(hops), options.TrustedHops, seen)
	}
	if address, valid := prefix(seen, options.IPv6Prefix); valid {
		return address, nil
	}
	if address, valid := prefix(peer, options.IPv6Prefix); valid {
		return address, nil
	}
	return "", errors.New("weir: the address of the peer is not known here: set TrustedHops to the number of proxies")
}

const (
	ignored = "X-Forwarded-For is ignored, so that all who come through a proxy can count as one; set TrustedHops to the number of proxies before " +
		"this server"
	missing = "X-Forwarded-For of a request has fewer addresses than TrustedHops, so that it did not pass all these proxies, and its client can " +
		"choose the address by which it counts"
	inner = "the address of X-Forwarded-For that counts is a private one, perhaps of a proxy; TrustedHops must be the number of all proxies " +
		"before this server"
)

// warned are the texts that were logged.
var warned sync.Map

func warnOfMisuse(hops, trustedHops int, seen string) {
	if hops > 0 && trustedHops == 0 {
		warnOnce(ignored)
	}
	if hops < trustedHops {
		warnOnce(missing)
	}
	if text, valid := prefix(seen, 128); valid {
		if address := netip.MustParseAddr(text); address.IsPrivate() || address.IsLoopback() || address.IsLinkLocalUnicast() {
			warnOnce(inner)
		}
	}
}

func warnOnce(text string) {
	if _, was := warned.LoadOrStore(text, true); !was {
		log.Printf("weir: %s (NoWarnings: true silences this)", text)
	}
}

func addressesOf(values []string) []string {
	var hops []string
	for _, hop := range strings.Split(strings.Join(values, ","), ",") {
		if hop = strings.TrimSpace(hop); hop != "" {
			hops = append(hops, hop)
		}
	}
	return hops
}

// prefix is an address without port and zone, IPv6 cut to its prefix.
func prefix(text string, bits int) (string, bool) {
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	text = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	address, err := netip.ParseAddr(text)
	if err != nil {
		return "", false
	}
	address = address.Unmap().WithZone("")
	if address.Is4() || bits == 128 {
		return address.String(), true
	}
	network, err := address.Prefix(bits)
	return network.String(), err == nil
}
