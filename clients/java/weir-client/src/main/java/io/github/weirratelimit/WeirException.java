package io.github.weirratelimit;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A call of a gate that got no valid answer.
 *
 * @serial exclude
 */
public final class WeirException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Why a call got no valid answer. */
    public enum Kind {
        /** No complete answer arrived before the time-out. */
        TIMEOUT,
        /** {@code maxWaiting} checks waited already, so this one was not sent. */
        OVERLOAD,
        /** The connection was refused, reset or closed before an answer. */
        CONNECTION,
        /** The gate answered with an error: 401, 403, 404, 5xx, or a redirect, which is never followed. */
        STATUS,
        /** The answer is not one of a gate: not JSON, or fields of other types. */
        ANSWER,
        /** The gate refused the request itself (400, 413, 415, 422). The program must send another one. */
        REFUSED
    }

    /**
     * A field of a request, and why the gate refused it.
     *
     * @param field its name
     * @param reason the reason
     */
    public record FieldProblem(String field, String reason) {}

    private final Kind kind;
    private final @Nullable Integer status;
    private final @Nullable String code;
    private final @Nullable String requestId;
    private final transient List<FieldProblem> fields;

    WeirException(Kind kind, String message) {
        this(kind, message, null, null, null, List.of(), null);
    }

    WeirException(Kind kind, String message, @Nullable Throwable cause) {
        this(kind, message, null, null, null, List.of(), cause);
    }

    WeirException(
            Kind kind, String message, @Nullable Integer status, @Nullable String code, @Nullable String requestId,
            List<FieldProblem> fields, @Nullable Throwable cause) {
        super(message, cause);
        this.kind = kind;
        this.status = status;
        this.code = code;
        this.requestId = requestId;
        this.fields = fields;
    }

    static WeirException notAnAnswer(int status) {
        return new WeirException(
                Kind.ANSWER, "the gate's answer does not fit its status " + status, status, null, null, List.of(), null);
    }

    static WeirException late() {
        return new WeirException(Kind.TIMEOUT, "the gate did not answer in time");
    }

    /** {@return why the call got no valid answer} */
    public Kind getKind() {
        return kind;
    }

    /** {@return the HTTP status; null if there was none} */
    public @Nullable Integer getStatus() {
        return status;
    }

    /** {@return {@code code} of the gate's problem document} */
    public @Nullable String getCode() {
        return code;
    }

    /** {@return {@code request_id} of the gate's problem document} */
    public @Nullable String getRequestId() {
        return requestId;
    }

    /** {@return the fields that the gate refused} */
    public List<FieldProblem> getFields() {
        return fields == null ? List.of() : fields;
    }
}
