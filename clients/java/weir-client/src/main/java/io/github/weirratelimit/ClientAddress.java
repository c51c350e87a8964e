package io.github.weirratelimit;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The address to count by: of the peer, or as the outermost trusted proxy saw it.
 *
 * @param trustedHops the number of proxies before this server that append to {@code X-Forwarded-For}. With 0 the header is ignored: anybody can
 *     send it
 * @param ipv6Prefix the prefix length by which IPv6 addresses are counted, 32 to 128; 64 is what one customer has
 */
public record ClientAddress(int trustedHops, int ipv6Prefix) {
    /** The address of the peer. */
    public static final ClientAddress OF_PEER = new ClientAddress(0, 64);

    private static final Pattern DOTTED = Pattern.compile("(NUMBER\\.){3}NUMBER".replace("NUMBER", "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"));

    /**
     * Fails if a number is out of its range.
     *
     * @param trustedHops 0 or more
     * @param ipv6Prefix 32 to 128
     */
    public ClientAddress {
        if (trustedHops < 0) throw new IllegalArgumentException("trustedHops: 0 or more");
        if (ipv6Prefix < 32 || ipv6Prefix > 128) throw new IllegalArgumentException("ipv6Prefix: 32 to 128");
    }

    /**
     * The address to count by. Fails if neither is an address.
     *
     * @param peer the address of the peer
     * @param forwardedFor the values of {@code X-Forwarded-For}
     * @return the address, IPv6 cut to its prefix
     */
    public String of(@Nullable String peer, List<String> forwardedFor) {
        List<String> hops = Arrays.stream(String.join(",", forwardedFor).split(",")).filter(hop -> !hop.isBlank()).toList();
        String seen = trustedHops == 0 || hops.isEmpty() ? null : prefix(hops.get(Math.max(hops.size() - trustedHops, 0)));
        String address = seen != null ? seen : prefix(peer == null ? "" : peer);
        if (address != null) return address;
        throw new IllegalArgumentException("the address of the peer is not known here: set trustedHops to the number of proxies");
    }

    /** An address without port and zone, IPv6 cut to its prefix; null if it is none. */
    private @Nullable String prefix(String text) {
        String bare = text.trim().replaceFirst("^\\[(.*)](:\\d+)?$", "$1").replaceFirst("^(\\d+\\.\\d+\\.\\d+\\.\\d+):\\d+$", "$1").replaceFirst("%.*$", "");
        // Anything else could be a name, which the JDK would look up.
        if (!DOTTED.matcher(bare).matches() && !(bare.contains(":") && bare.matches("[0-9a-fA-F:.]+"))) return null;
        byte[] bytes;
        try {
            bytes = InetAddress.getByName(bare).getAddress();
        } catch (UnknownHostException none) {
            return null;
        }
        if (bytes.length == 4) return (bytes[0] & 255) + "." + (bytes[1] & 255) + "." + (bytes[2] & 255) + "." + (bytes[3] & 255);
        int[] groups = new int[8];
        for (int at = 0; at < 8; at += 1) {
            int kept = Math.min(Math.max(ipv6Prefix - at * 16, 0), 16);
            groups[at] = ((bytes[2 * at] & 255) << 8 | bytes[2 * at + 1] & 255) & (0xffff << (16 - kept)) & 0xffff;
        }
        return ipv6Prefix == 128 ? canonical(groups) : canonical(groups) + "/" + ipv6Prefix;
    }

    /** RFC 5952: the first of the longest runs of zeros becomes {@code ::}. */
    private static String canonical(int[] groups) {
        int best = -1;
        int longest = 1;
        for (int at = 0; at < 8; at += 1) {
            int length = 0;
            while (at + length < 8 && groups[at + length] == 0) length += 1;
            if (length > longest) {
                best = at;
                longest = length;
            }
        }
        StringBuilder text = new StringBuilder();
        for (int at = 0; at < 8; at += 1) {
            if (at == best) {
                text.append("::");
                at += longest - 1;
            } else {
                if (text.length() > 0 && text.charAt(text.length() - 1) != ':') text.append(':');
                text.append(Integer.toHexString(groups[at]));
            }
        }
        return text.toString();
    }
}
