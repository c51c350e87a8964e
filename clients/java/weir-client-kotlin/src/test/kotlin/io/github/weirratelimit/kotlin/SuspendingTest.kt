package io.github.weirratelimit.kotlin

import io.github.weirratelimit.CheckRequest
import io.github.weirratelimit.MemoryGate
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

internal class SuspendingTest {
    private val gate = MemoryGate()
    private val weir = gate.client()

    @Test
    fun `calls suspend, and results read as properties`() = runBlocking {
        gate.deny("api", mapOf("user" to "eve"), java.time.Duration.ofMinutes(5))
        assertTrue(weir.checkSuspending("api", "user" to "ann", "vip" to true, "none" to null, cost = 3).allowed)
        assertEquals(mapOf("user" to "ann", "vip" to "true"), gate.received()[0].attributes)
        assertEquals(300_000, weir.checkSuspending("api", "user" to "eve").retryAfterMs)
        val eve = CheckRequest.of("api", mapOf("user" to "eve"))
        assertFalse(weir.awaitSuspending(eve, 1.milliseconds).allowed)
        assertEquals(listOf(false, true), weir.checkAllSuspending(listOf(eve, CheckRequest.of("api", mapOf("user" to "ann")))).map { it.allowed })
        assertEquals(2, weir.reserveSuspending(CheckRequest.of("api", mapOf("user" to "ann")).withCost(5)).commitSuspending(2).charged)
    }

    @Test
    fun `cancelling the coroutine ends a wait`() = runBlocking {
        gate.deny(null, mapOf(), java.time.Duration.ofMinutes(5))
        val wait = async(start = CoroutineStart.UNDISPATCHED) { weir.awaitSuspending(CheckRequest.of("api", mapOf("user" to "ann")), 60.minutes) }
        wait.cancelAndJoin()
        assertTrue(wait.isCancelled)
        assertEquals(1, gate.received().size)
    }
}
