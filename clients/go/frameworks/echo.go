package frameworks

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// forEcho makes a middleware of echo of one of net/http.
func forEcho(limit func(http.Handler) http.Handler) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		limited := echo.WrapMiddleware(limit)(func(c echo.Context) error {
			if err := next(c); err != nil {
				c.Error(err) // now, so that RefundWhen sees its status
			}
			return nil
		})
		return func(c echo.Context) error {
			c.Request().Pattern = c.Path() // for Attributes
			return limited(c)
		}
	}
}
