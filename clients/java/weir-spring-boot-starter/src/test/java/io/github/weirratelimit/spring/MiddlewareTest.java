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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
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

    /** One application for all rows with the same client, because its start takes seconds. */
    private static final class App {
        final Script script = new Script();
        final List<Answer> decisions = new CopyOnWriteArrayList<>();
        final RequestLimit[] limits = new RequestLimit[2];
        final ConfigurableApplicationContext context;
        /** Of the row that runs. */
        List<Map<String, Object>> rows = List.of();

        App(Weir weir, WebApplicationType type) {
            for (int nth = 0; nth < limits.length; nth += 1) limits[nth] = limit(nth, type);
            context = new SpringApplicationBuilder(Application.class).web(type)
                    .properties("server.port=0", "spring.main.banner-mode=off", "logging.level.root=off", "spring.main.register-shutdown-hook=false")
                    .initializers(found -> {
                        GenericApplicationContext beans = (GenericApplicationContext) found;
                        beans.registerBean(Weir.class, () -> weir);
                        if (type == WebApplicationType.SERVLET) beans.registerBean(ServletHandler.class, () -> new ServletHandler(script));
                        else beans.registerBean(ReactiveHandler.class, () -> new ReactiveHandler(script));
                        beans.registerBean("outer", RequestLimit.class, () -> limits[0]);
                        beans.registerBean("inner", RequestLimit.class, () -> limits[1]);
                    })
                    .run();
        }

        private Map<String, Object> row(int nth) {
            return nth < rows.size() ? rows.get(nth) : Map.of();
        }

        private RequestLimit limit(int nth, WebApplicationType type) {
            return RequestLimit.of("conformance", call -> nth < rows.size() ? ofFramework(attributes(row(nth)), type) : null)
                    .cost(call -> (Long) row(nth).getOrDefault("cost", 1L))
                    .skip(call -> row(nth).containsKey("skip"))
                    .refundWhen(status -> status >= (Long) row(nth).getOrDefault("refund_from_status", 1000L))
                    .onDecision((answer, time) -> decisions.add(answer));
        }

        void begin(List<Map<String, Object>> rowsOfLimits) {
            rows = rowsOfLimits;
            decisions.clear();
            for (int nth = 0; nth < rows.size(); nth += 1) {
                limits[nth].headers(!Boolean.FALSE.equals(row(nth).get("headers")));
                limits[nth].onRefused = row(nth).containsKey("on_refused") ? answer -> own(object(rows.get(0).get("on_refused"))) : null;
            }
        }

        private static ResponseEntity<?> own(Map<String, Object> own) {
            ResponseEntity.BodyBuilder response = ResponseEntity.status(Math.toIntExact((Long) own.get("status")));
            object(own.get("headers")).forEach((name, value) -> response.header(name, (String) value));
            return response.body(own.get("body"));
        }
    }

    private static final Map<String, App> APPS = new HashMap<>();

    @AfterAll
    static void end() {
        APPS.values().forEach(app -> app.context.close());
    }

    private static void run(Map<String, Object> row, WebApplicationType type) throws Exception {
        String url = Support.url(row).replaceAll("/([^/]+)$", row.get("server").equals("stub") ? "/$1-" + type : "/$1");
        Weir weir = Support.client(row, url).cacheSize(0).build();
        App app = APPS.computeIfAbsent(row.get("server").equals("gate") ? "gate " + type : url + type, key -> new App(weir, type));
        Script script = app.script;
        List<Answer> decisions = app.decisions;
        script.url = url;
        app.begin(objects(row.get("limits")));
        URI uri = URI.create("http://127.0.0.1:" + app.context.getEnvironment().getProperty("local.server.port") + "/");
        int nth = 0;
        for (Map<String, Object> request : objects(row.get("requests"))) request(script, weir, uri, request, "request " + nth++, type);
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
