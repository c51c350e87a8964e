package frameworks

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/labstack/echo/v4"
	weir "github.com/weir-ratelimit/weir-go"
)

// New in each run, so that counters of earlier runs do not count.
var run = fmt.Sprintf("frameworks-%d-%d", os.Getpid(), time.Now().UnixNano())

type middleware = func(http.Handler) http.Handler

// frameworks make an application with a limited /items/:id and /login, which fails with 401, or returns 200 for ?ok.
var frameworks = map[string]func(items, login middleware) http.Handler{
	"gin": func(items, login middleware) http.Handler {
		gin.SetMode(gin.TestMode)
		app := gin.New()
		app.GET("/items/:id", forGin(items), func(c *gin.Context) {
			c.String(http.StatusOK, "%s: %d left", c.Param("id"), *weir.AnswerOf(c.Request.Context()).Remaining)
		})
		app.GET("/login", forGin(login), func(c *gin.Context) {
			if _, right := c.GetQuery("ok"); !right {
				c.AbortWithStatus(http.StatusUnauthorized)
			}
		})
		return app
	},
	"echo": func(items, login middleware) http.Handler {
		app := echo.New()
		app.GET("/items/:id", func(c echo.Context) error {
			return c.String(http.StatusOK, fmt.Sprintf("%s: %d left", c.Param("id"), *weir.AnswerOf(c.Request().Context()).Remaining))
		}, forEcho(items))
		app.GET("/login", func(c echo.Context) error {
			if !c.QueryParams().Has("ok") {
				return echo.ErrUnauthorized
			}
			return c.NoContent(http.StatusOK)
		}, forEcho(login))
		return app
	},
}

func TestRequestsAreLimitedByTheirRoute(t *testing.T) {
	for name, application := range frameworks {
		t.Run(name, func(t *testing.T) {
			client := client(t)
			routes := map[string]bool{}
			limit := client.Middleware(weir.MiddlewareOptions{Namespace: "conformance", Attributes: func(r *http.Request) (map[string]string, error) {
				routes[r.Pattern] = true
				return window(name + r.Pattern), nil
			}})
			app := application(limit, limit)
			for id, body := range []string{"0: 1 left", "1: 0 left"} {
				response := get(app, fmt.Sprint("/items/", id))
				if response.Code != http.StatusOK || response.Body.String() != body || response.Header().Get("RateLimit") == "" {
					t.Errorf("%d %v %v", response.Code, response.Body, response.Header())
				}
			}
			refused := get(app, "/items/2")
			if refused.Code != http.StatusTooManyRequests || refused.Header().Get("Retry-After") == "" {
				t.Errorf("%d %v", refused.Code, refused.Header())
			}
			if len(routes) != 1 || !routes["/items/:id"] {
				t.Error(routes)
			}
		})
	}
}

func TestRefundWhenSeesTheStatusOfTheHandler(t *testing.T) {
	for name, application := range frameworks {
		t.Run(name, func(t *testing.T) {
			client, statuses := client(t), []int{}
			limit := client.Middleware(weir.MiddlewareOptions{
				Namespace:  "conformance",
				Attributes: func(*http.Request) (map[string]string, error) { return window(name + "-login"), nil },
				RefundWhen: func(status int) bool { statuses = append(statuses, status); return status < 300 },
			})
			app := application(limit, limit)
			// Only failures count.
			for nth, path := range []string{"/login?ok", "/login", "/login?ok", "/login", "/login?ok"} {
				expected := []int{200, 401, 200, 401, 429}[nth]
				if response := get(app, path); response.Code != expected {
					t.Errorf("request %d: %d, not %d", nth, response.Code, expected)
				}
			}
			if fmt.Sprint(statuses) != "[200 401 200 401]" {
				t.Error(statuses)
			}
		})
	}
}

func TestGuideHasTheseAdapters(t *testing.T) {
	page, err := os.ReadFile("../../../docs/clients/go.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"gin.go", "echo.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, adapter, found := strings.Cut(string(source), "\n)\n\n")
		if !found || !strings.Contains(string(page), adapter) {
			t.Errorf("docs/clients/go.md has not the function of %s", file)
		}
	}
}

func window(user string) map[string]string {
	return map[string]string{"suite": "window", "user": user + "-" + run}
}

func get(handler http.Handler, path string) *httptest.ResponseRecorder {
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, httptest.NewRequest(http.MethodGet, path, nil))
	return response
}

func client(t *testing.T) *weir.Client {
	t.Helper()
	url, key := os.Getenv("WEIR_GATE_URL"), os.Getenv("WEIR_KEY")
	made, err := weir.New(weir.Options{URL: url, Key: key, OnError: weir.Deny, Timeout: time.Minute, CacheSize: -1})
	if err != nil {
		t.Fatalf("%v: run `cargo xtask clients`", err)
	}
	t.Cleanup(made.Close)
	return made
}
