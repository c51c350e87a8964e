package io.github.weirratelimit.spring;

import static io.github.weirratelimit.Support.attributes;
import static io.github.weirratelimit.Support.object;
import static io.github.weirratelimit.Support.objects;
import static io.github.weirratelimit.Support.until;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.weirratelimit.Answer;
import io.github.weirratelimit.Support;
import io.github.weirratelimit.Weir;
import jakarta.servlet.http.HttpServletRequest;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ServerWebExchange;

/** The middleware rows of conformance.json, by Spring MVC on Tomcat and by WebFlux on Netty. */
class MiddlewareTest {
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    @TestFactory
    Collection<DynamicTest> rows() {
        return Support.rows("middleware").stream().flatMap(row -> Stream.of(WebApplicationType.SERVLET, WebApplicationType.REACTIVE)
                .map(type -> DynamicTest.dynamicTest(type + ": " + row.get("name"), () -> run(row, type)))).toList();
    }

    /** What the handler does, and what it found. */
    static final class Script {
        Map<String, Object> handler = Map.of();
        String url = "";
        volatile boolean handled;
        volatile Answer answer;

        ResponseEntity<Void> handle(Object found) {
            handled = true;
            answer = (Answer) found;
            if (handler.containsKey("until_renewals")) until(() -> renewals() >= (Long) handler.get("until_renewals"));
            if (handler.containsKey("fails")) throw new IllegalStateException("the handler fails");
            ResponseEntity.BodyBuilder response = ResponseEntity.status(Math.toIntExact((Long) handler.getOrDefault("status", 200L)));
            object(handler.getOrDefault("headers", Map.of())).forEach((name, value) -> response.header(name, (String) value));
            return response.build();
        }

        private long renewals() {
            return Support.requestsAt(url).stream().filter(request -> "/renew".equals(request.get("path"))).count();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {}

    @RestController
    record ServletHandler(Script script) {
        @GetMapping("/")
        ResponseEntity<Void> get(HttpServletRequest request) {
            return script.handle(request.getAttribute(Answer.class.getName()));
        }
    }

    @RestController
    record ReactiveHandler(Script script) {
        @GetMapping("/")
        ResponseEntity<Void> get(ServerWebExchange exchange) {
            return script.handle(exchange.getAttribute(Answer.class.getName()));
        }
    }

    private static void run(Map<String, Object> row, WebApplicationType type) throws Exception {
        Script script = new Script();
        script.url = Support.url(row).replaceAll("/([^/]+)$", row.get("server").equals("stub") ? "/$1-" + type : "/$1");
        List<Answer> decisions = new CopyOnWriteArrayList<>();
        Weir weir = Support.client(row, script.url).cacheSize(0).build();
        try (ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class).web(type)
                .properties("server.port=0", "spring.main.banner-mode=off", "logging.level.root=off", "spring.main.register-shutdown-hook=false")
                .initializers(found -> {
                    GenericApplicationContext beans = (GenericApplicationContext) found;
                    beans.registerBean(Weir.class, () -> weir);
                    if (type == WebApplicationType.SERVLET) beans.registerBean(ServletHandler.class, () -> new ServletHandler(script));
                    else beans.registerBean(ReactiveHandler.class, () -> new ReactiveHandler(script));
                    int nth = 0;
                    for (Map<String, Object> limit : objects(row.get("limits"))) {
                        beans.registerBean("limit" + nth++, RequestLimit.class, () -> limit(limit, decisions, type));
                    }
                })
                .run()) {
            URI uri = URI.create("http://127.0.0.1:" + context.getEnvironment().getProperty("local.server.port") + "/");
            int nth = 0;
            for (Map<String, Object> request : objects(row.get("requests"))) request(script, weir, uri, request, "request " + nth++, type);
        }
        if (row.containsKey("decisions")) {
            List<Map<String, Object>> wanted = objects(row.get("decisions"));
            assertEquals(wanted.size(), decisions.size());
            for (int at = 0; at < wanted.size(); at += 1) Support.compare(decisions.get(at), wanted.get(at), "decision " + at);
        }
        if (row.containsKey("last")) {
            Map<String, Object> last = object(row.get("last"));
            until(() -> {
                List<Map<String, Object>> requests = Support.requestsAt(script.url);
                Map<String, Object> found = requests.get(requests.size() - 1);
                return last.get("path").equals(found.get("path")) && last.get("lease").equals(object(found.get("body")).get("lease"));
            });
        }
    }

    /** The subjects of one framework are not those of the other. */
    private static Map<String, Object> ofFramework(Map<String, Object> attributes, WebApplicationType type) {
        attributes.computeIfPresent("user", (name, user) -> user + "-" + type);
        return attributes;
    }

    private static RequestLimit limit(Map<String, Object> row, List<Answer> decisions, WebApplicationType type) {
        RequestLimit limit = RequestLimit.of("conformance", call -> ofFramework(attributes(row), type))
                .cost(call -> (Long) row.getOrDefault("cost", 1L))
                .skip(call -> row.containsKey("skip"))
                .headers(!Boolean.FALSE.equals(row.get("headers")))
                .onDecision((answer, time) -> decisions.add(answer));
        if (row.containsKey("refund_from_status")) limit.refundWhen(status -> status >= (Long) row.get("refund_from_status"));
        if (row.containsKey("on_refused")) {
            Map<String, Object> own = object(row.get("on_refused"));
            limit.onRefused(answer -> {
                ResponseEntity.BodyBuilder response = ResponseEntity.status(Math.toIntExact((Long) own.get("status")));
                object(own.get("headers")).forEach((name, value) -> response.header(name, (String) value));
                return response.body(own.get("body"));
            });
        }
        return limit;
    }

    private static void request(Script script, Weir weir, URI uri, Map<String, Object> request, String where, WebApplicationType type) throws Exception {
        script.handler = object(request.getOrDefault("handler", Map.of()));
        script.handled = false;
        script.answer = null;
        HttpResponse<String> response = HTTP.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
        Map<String, Object> expect = object(request.get("expect"));
        String place = where + ": " + response + " " + response.headers().map() + " " + response.body();
        if (expect.containsKey("status")) assertEquals(expect.get("status"), (long) response.statusCode(), place);
        if (expect.containsKey("handled")) assertEquals(expect.get("handled"), script.handled, place);
        if (expect.containsKey("body")) assertEquals(expect.get("body"), response.body(), place);
        if (expect.containsKey("code")) assertEquals(expect.get("code"), object(Support.json(response.body())).get("code"), place);
        if (expect.get("answer") != null) Support.compare(script.answer, object(expect.get("answer")), place);
        else if (expect.containsKey("answer")) assertNull(script.answer, place);
        object(expect.getOrDefault("headers", Map.of())).forEach((name, value) -> header(response.headers().allValues(name), value, place + ": " + name));
        if (request.containsKey("after")) {
            Map<String, Object> step = object(request.get("after"));
            until(() -> {
                Answer answer = weir.peek(Support.request(Map.of("attributes", ofFramework(attributes(step), type))));
                Map<String, Object> wanted = object(step.get("expect"));
                return wanted.get("allowed").equals(answer.allowed()) && java.util.Objects.equals(wanted.getOrDefault("remaining", answer.remaining()), answer.remaining());
            });
        }
    }

    private static void header(List<String> found, Object wanted, String place) {
        if (wanted == null) {
            assertEquals(List.of(), found, place);
            return;
        }
        assertEquals(1, found.size(), place);
        String text = found.get(0);
        if (wanted instanceof Map<?, ?> range) {
            assertTrue((Long) range.get("min") <= Long.parseLong(text) && Long.parseLong(text) <= (Long) range.get("max"), place);
        } else if (wanted instanceof List<?> begins) {
            List<String> items = new ArrayList<>(Arrays.asList(text.split(", ")));
            assertEquals(begins.size(), items.size(), place);
            for (int at = 0; at < items.size(); at += 1) assertTrue(items.get(at).startsWith((String) begins.get(at)), place);
        } else {
            assertEquals(wanted, text.replaceFirst(";\\s*charset=.*", ""), place);
        }
    }
}
