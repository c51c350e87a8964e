/** The client of Weir's gates. {@link io.github.weirratelimit.Weir} is where to begin. */
@NullMarked
package io.github.weirratelimit;

import org.jspecify.annotations.NullMarked;
