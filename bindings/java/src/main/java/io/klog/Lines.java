package io.klog;

import java.util.ArrayList;
import java.util.List;

/** The texts that klog gives: lines of fields with tabs between, in which tab, LF and backslash are \t, \n and \\. */
final class Lines {
    private Lines() {
    }

    /** The fields of each line; a field "-" is empty. */
    static List<String[]> of(String text) {
        List<String[]> lines = new ArrayList<>();
        int from = 0;
        for (int end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
            String[] fields = text.substring(from, end).split("\t", -1);
            for (int i = 0; i < fields.length; i++) {
                fields[i] = fields[i].equals("-") ? "" : unescaped(fields[i]);
            }
            lines.add(fields);
            from = end + 1;
        }
        return lines;
    }

    static TopicPartition partition(String field) {
        return field.isEmpty() ? null : TopicPartition.parse(field);
    }

    static long number(String field) {
        return field.isEmpty() ? -1 : Long.parseLong(field);
    }

    private static String unescaped(String field) {
        if (field.indexOf('\\') < 0) {
            return field;
        }
        StringBuilder plain = new StringBuilder();
        for (int i = 0; i < field.length(); i++) {
            char c = field.charAt(i);
            if (c == '\\' && i + 1 < field.length()) {
                c = field.charAt(++i);
                c = c == 't' ? '\t' : c == 'n' ? '\n' : c;
            }
            plain.append(c);
        }
        return plain.toString();
    }
}
