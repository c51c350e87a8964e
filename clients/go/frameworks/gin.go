// Package frameworks has the examples of the guide for frameworks whose middleware is not that of net/http.
package frameworks

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// forGin makes a middleware of gin of one of net/http.
func forGin(limit func(http.Handler) http.Handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		admitted := false
		next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			admitted = true
			c.Request = r
			c.Next()
			w.WriteHeader(c.Writer.Status()) // for RefundWhen
		})
		c.Request.Pattern = c.FullPath() // for Attributes
		limit(next).ServeHTTP(c.Writer, c.Request)
		if !admitted {
			c.Abort()
		}
	}
}
