package io.github.weirratelimit.spring;

import io.github.weirratelimit.CheckRequest;
import io.github.weirratelimit.Choice;
import io.github.weirratelimit.SafeAttributes;
import io.github.weirratelimit.spring.Expressions.Compiled;
import java.lang.reflect.Method;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;

/** What to ask about a call or a request, compiled: the namespace, the attributes and the units. */
record CompiledLimit(Expressions texts, String namespace, Map<String, Compiled> attributes, Compiled units, @Nullable Choice onError) {
    static CompiledLimit of(RateLimit annotation, Method method, Set<String> known, String defaultNamespace, BeanFactory beans) {
        String namespace = annotation.namespace().isEmpty() ? defaultNamespace : annotation.namespace();
        Expressions texts = at("@RateLimit", namespace, method, beans);
        return new CompiledLimit(
                texts, namespace, texts.attributes(annotation.attributes(), known), texts.units("cost", annotation.cost(), known),
                Expressions.choice(annotation.onError()));
    }

    static CompiledLimit of(Reserve annotation, Method method, Set<String> known, String defaultNamespace, BeanFactory beans) {
        String namespace = annotation.namespace().isEmpty() ? defaultNamespace : annotation.namespace();
        Expressions texts = at("@Reserve", namespace, method, beans);
        return new CompiledLimit(
                texts, namespace, texts.attributes(annotation.attributes(), known), texts.units("estimate", annotation.estimate(), known),
                Expressions.choice(annotation.onError()));
    }

    private static Expressions at(String annotation, String namespace, Method method, BeanFactory beans) {
        Expressions texts = new Expressions(annotation + "(\"" + namespace + "\") on " + place(method) + ": ", beans);
        if (namespace.isEmpty()) throw texts.failure("a namespace is needed, here or as weir.namespace");
        return texts;
    }

    static String place(Method method) {
        return method.getDeclaringClass().getName() + "." + method.getName();
    }

    Map<String, Object> attributes(Map<String, @Nullable Object> variables) {
        Map<String, Object> found = new LinkedHashMap<>();
        attributes.forEach((name, value) -> found.put(name, texts.value(value, variables)));
        return found;
    }

    long units(Map<String, @Nullable Object> variables) {
        return texts.number(units, variables);
    }

    CheckRequest request(Map<String, @Nullable Object> variables) {
        return CheckRequest.of(namespace, SafeAttributes.of(attributes(variables))).withCost(units(variables));
    }
}
