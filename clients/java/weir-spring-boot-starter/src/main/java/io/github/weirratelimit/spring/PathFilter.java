package io.github.weirratelimit.spring;

import io.github.weirratelimit.spring.Expressions.Compiled;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.http.server.PathContainer;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;
import org.springframework.web.util.pattern.PatternParseException;

/** The limit of {@code weir.filter}. */
final class PathFilter {
    private static final String PROPERTY = "weir.filter.";

    private PathFilter() {}

    /** None without paths. Fails if a property is wrong, or has no effect because there are no paths. */
    static List<RequestLimit> of(WeirProperties properties, BeanFactory beans) {
        WeirProperties.Filter filter = properties.filter();
        Expressions texts = new Expressions(PROPERTY, beans);
        if (filter.paths().isEmpty()) {
            boolean meant = !filter.exclude().isEmpty() || !filter.attributes().isEmpty() || !filter.namespace().isEmpty();
            if (meant) throw texts.failure("paths: a pattern is needed, such as /api/**");
            return List.of();
        }
        String namespace = filter.namespace().isEmpty() ? properties.namespace() : filter.namespace();
        if (namespace.isEmpty()) throw texts.failure("namespace: a namespace is needed, here or as weir.namespace");
        if (filter.attributes().isEmpty()) throw texts.failure("attributes: what rules count by is needed, such as ip: \"#ip\"");
        List<PathPattern> paths = patterns("paths", filter.paths(), texts);
        List<PathPattern> exclude = patterns("exclude", filter.exclude(), texts);
        Map<String, Compiled> attributes = new LinkedHashMap<>();
        filter.attributes().forEach((name, text) -> attributes.put(name, texts.compiled("attributes." + name, text, RateLimits.OF_REQUESTS)));
        Compiled cost = texts.units("cost", filter.cost(), RateLimits.OF_REQUESTS);
        CompiledLimit limit = new CompiledLimit(texts, namespace, attributes, cost, filter.onError());
        return List.of(HandlerLimits.limit(limit).skip(call -> {
            PathContainer path = PathContainer.parsePath(call.pathInApplication());
            return paths.stream().noneMatch(one -> one.matches(path)) || exclude.stream().anyMatch(one -> one.matches(path));
        }));
    }

    private static List<PathPattern> patterns(String property, List<String> patterns, Expressions texts) {
        List<PathPattern> found = new ArrayList<>();
        for (String pattern : patterns) {
            if (!pattern.startsWith("/")) throw texts.failure(property + ": \"" + pattern + "\" does not begin with /");
            try {
                found.add(PathPatternParser.defaultInstance.parse(pattern));
            } catch (PatternParseException wrong) {
                throw texts.failure(property + ": \"" + pattern + "\": " + wrong.getMessage());
            }
        }
        return found;
    }
}
