package io.github.weirratelimit.spring;

import io.github.weirratelimit.Choice;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
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

/** The texts of one annotation or of the filter: compiles them and reads their values. Each failure names their place. */
final class Expressions {
    private static final SpelExpressionParser PARSER = new SpelExpressionParser();

    /** Begins each message, such as {@code @RateLimit("email") on example.Mails.send: }. */
    private final String place;
    private final BeanFactory beans;

    Expressions(String place, BeanFactory beans) {
        this.place = place;
        this.beans = beans;
    }

    /** A text to use as it is, or an expression; with its name in messages. */
    record Compiled(String name, String text, @Nullable Expression expression) {}

    ExpressionException failure(String message) {
        return new ExpressionException(place + message, null);
    }

    /** The decision of an annotation if no gate decides; null for the client's. */
    static @Nullable Choice choice(RateLimit.OnError onError) {
        return onError == RateLimit.OnError.CLIENT ? null : Choice.valueOf(onError.name());
    }

    /** The attributes of an annotation: {@code name=text} or {@code name=#expression}. */
    Map<String, Compiled> attributes(String[] attributes, Set<String> known) {
        Map<String, Compiled> found = new LinkedHashMap<>();
        for (String attribute : attributes) {
            int equals = attribute.indexOf('=');
            if (equals < 1) throw failure("attribute \"" + attribute + "\": name=text or name=#expression is needed");
            String name = attribute.substring(0, equals).trim();
            found.put(name, compiled("attribute " + name, attribute.substring(equals + 1).trim(), known));
        }
        return found;
    }

    /** Fails if an expression does not parse or names an unknown variable. */
    Compiled compiled(String name, String text, Set<String> known) {
        if (!text.startsWith("#") && !text.startsWith("@")) return new Compiled(name, text, null);
        try {
            SpelExpression expression = (SpelExpression) PARSER.parseExpression(text);
            check(expression.getAST(), name + ": " + text, known);
            return new Compiled(name, text, expression);
        } catch (ParseException failure) {
            throw new ExpressionException(place + name + ": " + text + ": " + failure.getMessage(), failure);
        }
    }

    /** The same of a number of units. */
    Compiled units(String name, String text, Set<String> known) {
        Compiled compiled = compiled(name, text, known);
        if (compiled.expression == null && !text.matches("[0-9]{1,9}")) throw failure(name + ": \"" + text + "\" is no whole number");
        return compiled;
    }

    private void check(SpelNode node, String where, Set<String> known) {
        String name = node.toStringAST();
        boolean unknown = node instanceof VariableReference && !known.contains(name.substring(1)) && !name.equals("#this") && !name.equals("#root");
        if (unknown) throw failure(where + ": " + name + " is not known; there are #" + String.join(", #", new TreeSet<>(known)));
        for (int at = 0; at < node.getChildCount(); at += 1) check(node.getChild(at), where, known);
    }

    /** A text, a number or a boolean. */
    Object value(Compiled compiled, Map<String, @Nullable Object> variables) {
        if (compiled.expression == null) return compiled.text;
        String where = compiled.name + " = " + compiled.text;
        StandardEvaluationContext context = new StandardEvaluationContext();
        context.setBeanResolver(new BeanFactoryResolver(beans));
        context.setVariables(variables);
        Object value;
        try {
            value = compiled.expression.getValue(context);
        } catch (EvaluationException failure) {
            throw new ExpressionException(place + where + ": " + failure.getMessage(), failure);
        }
        if (value == null) throw failure(where + " is null");
        if (value instanceof Collection<?> || value instanceof Map<?, ?> || value.getClass().isArray()) {
            throw failure(where + " is a " + value.getClass().getName() + ", not one value");
        }
        return value instanceof Number || value instanceof Boolean ? value : value.toString();
    }

    long number(Compiled compiled, Map<String, @Nullable Object> variables) {
        Object found = value(compiled, variables);
        if (found instanceof String text && text.matches("[0-9]{1,9}")) return Long.parseLong(text);
        if (found instanceof Number number && number.doubleValue() == number.longValue() && number.longValue() >= 0) return number.longValue();
        throw failure(compiled.name + " is " + found + ", not a whole number");
    }
}
