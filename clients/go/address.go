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
	if len(hops) > 0 && options.TrustedHops == 0 {
		warning.Do(func() {
			log.Print("weir: X-Forwarded-For is ignored; set TrustedHops to the number of proxies before this server")
		})
	}
	if len(hops) > 0 && options.TrustedHops > 0 {
		at := len(hops) - options.TrustedHops
		if at < 0 {
			at = 0
		}
		if address, valid := prefix(hops[at], options.IPv6Prefix); valid {
			return address, nil
		}
	}
	if address, valid := prefix(peer, options.IPv6Prefix); valid {
		return address, nil
	}
	return "", errors.New("weir: the address of the peer is not known here: set TrustedHops to the number of proxies")
}

var warning sync.Once

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
