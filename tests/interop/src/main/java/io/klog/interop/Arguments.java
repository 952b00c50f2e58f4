package io.klog.interop;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The fields of a request after its command, taken one by one; what is missing or too much is named in the error. */
final class Arguments {
    private final List<String> fields;
    private int taken;

    Arguments(List<String> fields) {
        this.fields = fields;
    }

    boolean more() {
        return taken < fields.size();
    }

    String text(String name) {
        if (!more()) throw new BadRequest("missing argument " + name);
        return fields.get(taken++);
    }

    Path path(String name) {
        return Path.of(text(name)).toAbsolutePath().normalize();
    }

    int int32(String name) {
        return Math.toIntExact(int64(name));
    }

    long int64(String name) {
        return number(name, text(name));
    }

    static long number(String name, String value) {
        try {
            return Long.parseLong(value);
        } catch (NumberFormatException e) {
            throw new BadRequest(name + " must be a number, not " + value);
        }
    }

    boolean flag(String name) {
        return flag(name, text(name));
    }

    static boolean flag(String name, String value) {
        return switch (value) {
            case "0" -> false;
            case "1" -> true;
            default -> throw new BadRequest(name + " must be 0 or 1, not " + value);
        };
    }

    /** One of an enum's names. */
    <T extends Enum<T>> T choice(String name, Class<T> type) {
        String value = text(name);
        try {
            return Enum.valueOf(type, value);
        } catch (IllegalArgumentException e) {
            throw new BadRequest(name + " must be one of " + List.of(type.getEnumConstants()) + ", not " + value);
        }
    }

    /** Takes the one word that may stand here. */
    boolean word(String word) {
        String value = text(word);
        if (!value.equals(word)) throw new BadRequest("expected " + word + ", not " + value);
        return true;
    }

    /** The next fields as long as they have the form key=value. */
    Map<String, String> options() {
        Map<String, String> options = new LinkedHashMap<>();
        while (more() && fields.get(taken).matches("[a-z_][a-z0-9_.]*=.*")) {
            String[] parts = fields.get(taken++).split("=", 2);
            options.put(parts[0], parts[1]);
        }
        return options;
    }

    List<String> rest() {
        List<String> rest = new ArrayList<>(fields.subList(taken, fields.size()));
        taken = fields.size();
        return rest;
    }

    void end() {
        if (more()) throw new BadRequest("unexpected argument " + fields.get(taken));
    }
}
