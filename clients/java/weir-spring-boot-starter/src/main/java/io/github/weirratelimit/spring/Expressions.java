package io.github.weirratelimit.spring;

import io.github.weirratelimit.CheckRequest;
import io.github.weirratelimit.Choice;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.Expression;
import org.springframework.expression.ParseException;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.expression.spel.support.StandardEvaluationContext;

/** One annotation, compiled: fails if an expression does not parse or names an unknown variable. */
final class Expressions {
    private static final SpelExpressionParser PARSER = new SpelExpressionParser();

    private final String namespace;
    private final String place;
    private final Map<String, Object> attributes = new LinkedHashMap<>();
    private final Object cost;
    private final BeanFactory beans;
    final RateLimit annotation;

    Expressions(RateLimit annotation, Method method, Set<String> known, String defaultNamespace, BeanFactory beans) {
        this.annotation = annotation;
        this.beans = beans;
        namespace = annotation.namespace().isEmpty() ? defaultNamespace : annotation.namespace();
        place = "@RateLimit(\"" + namespace + "\") on " + method.getDeclaringClass().getName() + "." + method.getName();
        if (namespace.isEmpty()) throw new ExpressionException(place + ": a namespace is needed, here or as weir.namespace", null);
        for (String attribute : annotation.attributes()) {
            int equals = attribute.indexOf('=');
            if (equals < 1) throw new ExpressionException(place + ": attribute \"" + attribute + "\": name=text or name=#expression is needed", null);
            attributes.put(attribute.substring(0, equals).trim(), compiled(attribute.substring(equals + 1).trim(), known));
        }
        cost = compiled(annotation.cost(), known);
        if (cost instanceof String text && !text.matches("[0-9]{1,9}")) throw new ExpressionException(place + ": cost \"" + text + "\" is no whole number", null);
    }

    /** The decision if no gate decides; null for the client's. */
    @Nullable Choice onError() {
        return annotation.onError() == RateLimit.OnError.CLIENT ? null : Choice.valueOf(annotation.onError().name());
    }

    String namespace() {
        return namespace;
    }

    CheckRequest request(Map<String, @Nullable Object> variables) {
        return CheckRequest.of(namespace, attributes(variables)).withCost(cost(variables));
    }

    Map<String, Object> attributes(Map<String, @Nullable Object> variables) {
        Map<String, Object> found = new LinkedHashMap<>();
        attributes.forEach((name, value) -> found.put(name, valueOf(value, "attribute " + name, variables)));
        return found;
    }

    long cost(Map<String, @Nullable Object> variables) {
        Object found = valueOf(cost, "cost", variables);
        if (found instanceof String text && text.matches("[0-9]{1,9}")) return Long.parseLong(text);
        if (found instanceof Number number && number.doubleValue() == number.longValue() && number.longValue() >= 0) return number.longValue();
        throw new ExpressionException(place + ": cost is " + found + ", not a whole number", null);
    }

    private Object valueOf(Object compiled, String name, Map<String, @Nullable Object> variables) {
        if (!(compiled instanceof Expression expression)) return compiled;
        String where = place + ": " + name + " = " + expression.getExpressionString();
        StandardEvaluationContext context = new StandardEvaluationContext();
        context.setBeanResolver(new BeanFactoryResolver(beans));
        context.setVariables(variables);
        Object value;
        try {
            value = expression.getValue(context);
        } catch (EvaluationException failure) {
            throw new ExpressionException(where + ": " + failure.getMessage(), failure);
        }
        if (value == null) throw new ExpressionException(where + " is null", null);
        if (value instanceof Collection<?> || value instanceof Map<?, ?> || value.getClass().isArray()) {
            throw new ExpressionException(where + " is a " + value.getClass().getName() + ", not one value", null);
        }
        return value instanceof Number || value instanceof Boolean ? value : value.toString();
    }

    /** A text, or a compiled expression. */
    private Object compiled(String text, Set<String> known) {
        if (!text.startsWith("#") && !text.startsWith("@")) return text;
        try {
            SpelExpression expression = (SpelExpression) PARSER.parseExpression(text);
            check(expression.getAST(), text, known);
            return expression;
        } catch (ParseException failure) {
            throw new ExpressionException(place + ": " + text + ": " + failure.getMessage(), failure);
        }
    }

    private void check(SpelNode node, String text, Set<String> known) {
        String name = node.toStringAST();
        boolean unknown = node instanceof VariableReference && !known.contains(name.substring(1)) && !name.equals("#this") && !name.equals("#root");
        if (unknown) {
            throw new ExpressionException(place + ": " + text + ": " + name + " is not known; there are #" + String.join(", #", known), null);
        }
        for (int at = 0; at < node.getChildCount(); at += 1) check(node.getChild(at), text, known);
    }
}
