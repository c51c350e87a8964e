export { type AddressOptions, clientAddress } from "./address.js";
export type { Answer, Degraded, LimitAnswer } from "./answer.js";
export { type ReportOptions, type WaitOptions, Weir } from "./client.js";
export { type FailureKind, type FieldProblem, WeirError } from "./errors.js";
export { type Committed, type ReserveOptions, Reservation } from "./reservation.js";
export { headers } from "./headers.js";
export { type Admission, type MiddlewareOptions, type Refusal, admit, safeAttributes } from "./middleware.js";
export type { Choice, Options } from "./options.js";
export type { Attributes, CheckOptions, CheckRequest } from "./request.js";
