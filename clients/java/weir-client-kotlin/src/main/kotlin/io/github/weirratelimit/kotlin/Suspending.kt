package io.github.weirratelimit.kotlin

import io.github.weirratelimit.Answer
import io.github.weirratelimit.CheckRequest
import io.github.weirratelimit.Committed
import io.github.weirratelimit.Reservation
import io.github.weirratelimit.ReserveOptions
import io.github.weirratelimit.Weir
import kotlin.time.Duration
import kotlin.time.toJavaDuration
import kotlinx.coroutines.future.await

/** [Weir.check] of names and values; cancelling the coroutine ends this check alone. */
public suspend fun Weir.checkSuspending(namespace: String, vararg attributes: Pair<String, Any?>, cost: Long = 1): Answer =
    checkSuspending(CheckRequest.of(namespace, mapOf(*attributes)).withCost(cost))

/** [Weir.check]; cancelling the coroutine ends this check alone. */
public suspend fun Weir.checkSuspending(request: CheckRequest): Answer = async().check(request).await()

/** [Weir.checkAll]. */
public suspend fun Weir.checkAllSuspending(requests: List<CheckRequest>): List<Answer> = async().checkAll(requests).await()

/** [Weir.await]; cancelling the coroutine ends the wait. */
public suspend fun Weir.awaitSuspending(request: CheckRequest, longest: Duration): Answer = async().await(request, longest.toJavaDuration()).await()

/** [Weir.record]. */
public suspend fun Weir.recordSuspending(request: CheckRequest): Answer = async().record(request).await()

/** [Weir.refund]. */
public suspend fun Weir.refundSuspending(request: CheckRequest, charge: String? = null): Answer = async().refund(request, charge).await()

/** [Weir.reserve]. */
public suspend fun Weir.reserveSuspending(request: CheckRequest, options: ReserveOptions = ReserveOptions.DEFAULT): Reservation =
    async().reserve(request, options).await()

/** [Reservation.commit]. */
public suspend fun Reservation.commitSuspending(cost: Long): Committed = commitAsync(cost).await()
