/** Rate limits of Weir for Spring. {@link io.github.weirratelimit.spring.RateLimit} is where to begin. */
@NullMarked
package io.github.weirratelimit.spring;

import org.jspecify.annotations.NullMarked;
