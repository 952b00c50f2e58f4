# Makes what calls the functions of klog.h out of their declarations, so that there is nothing to keep in step with them:
#
#   -v as=interface   io.klog.Functions: a method for each function
#   -v as=jni         io.klog.JniFunctions, its native methods
#   -v as=c           the other side of those, for klogjni.c
#   -v as=ffm         io.klog.FfmFunctions, the same over java.lang.foreign
#
# A handle, a pointer, a size and any other number of 64 bits is a long, one of 32 bits an int, a text that comes out a
# String. klog_log_get_info is logGetInfo.
function camel(snake,    words, n, i, all) {
    n = split(snake, words, "_")
    all = words[1]
    for (i = 2; i <= n; i++) {
        all = all toupper(substr(words[i], 1, 1)) substr(words[i], 2)
    }
    return all
}

# J, I or T for a C type.
function kind(type) {
    if (type ~ /char \*$/ && type !~ /,/) {
        return "T"
    }
    return type ~ /\*/ || type ~ /64_t$/ || type == "size_t" || is_handle(type) ? "J" : "I"
}

function is_handle(type) { return type ~ /^klog_/ && type != "klog_status" && type !~ /\*/ }

function java(letter) { return letter == "J" ? "long" : letter == "I" ? "int" : "String" }

# From here on the whole declaration is in one line.
function declared(text,    before, after, parts, i, type, name) {
    before = text
    sub(/\(.*/, "", before)
    after = text
    sub(/^[^(]*\(/, "", after)
    sub(/\).*/, "", after)
    match(before, /klog_[a-z0-9_]+$/)
    function_name = substr(before, RSTART)
    result_type = substr(before, 1, RSTART - 1)
    sub(/ $/, "", result_type)
    result = result_type ~ /\*/ ? "T" : kind(result_type)
    method = camel(substr(function_name, 6))
    count = after == "void" ? 0 : split(after, parts, /, */)
    for (i = 1; i <= count; i++) {
        match(parts[i], /[a-z0-9_]+$/)
        type = substr(parts[i], 1, RSTART - 1)
        name = substr(parts[i], RSTART)
        sub(/ $/, "", type)
        types[i] = type
        names[i] = camel(name)
        letters[i] = type ~ /\*/ ? "J" : kind(type)
    }
    emit()
}

# The arguments, each as prefix type name.
function arguments(c,    i, all) {
    for (i = 1; i <= count; i++) {
        all = all (i > 1 || c ? ", " : "") (c ? "j" : "") java(letters[i]) " " names[i]
    }
    return all
}

function given(c,    i, all, one) {
    for (i = 1; i <= count; i++) {
        one = names[i]
        if (c) {
            if (types[i] ~ /\*/) one = "(void *)(intptr_t)" one
            else if (is_handle(types[i])) one = "(" types[i] "){ (uint64_t)" one " }"
            else one = "(" types[i] ")" one
        }
        all = all (i > 1 ? ", " : "") one
    }
    return all
}

function signature(first,    i, all) {
    all = first
    for (i = 1; i <= count; i++) all = all letters[i]
    return all
}

function emit(    j) {
    if (as == "interface") {
        printf "\n    /** %s. */\n    %s %s(%s);\n", function_name, java(result), method, arguments(0)
    } else if (as == "jni") {
        printf "\n    @Override\n    public native %s %s(%s);\n", java(result), method, arguments(0)
    } else if (as == "c") {
        j = result == "T" ? "jstring" : "j" java(result)
        printf "static %s JNICALL j_%s(JNIEnv *env, jobject self%s) {\n    (void)env, (void)self;\n    return ", j, method, arguments(1)
        if (result == "T") printf "(*env)->NewStringUTF(env, %s(%s));\n}\n\n", function_name, given(1)
        else printf "(%s)%s(%s);\n}\n\n", j, function_name, given(1)
        table = table sprintf("    { (char *)\"%s\", (char *)\"(%s)%s\", (void *)j_%s },\n", method, signature(""), \
            result == "T" ? "Ljava/lang/String;" : result, method)
    } else if (as == "ffm") {
        printf "\n    @Override\n    public %s %s(%s) {\n        try {\n", java(result), method, arguments(0)
        printf "            return %s(%s) Calls.%s.invokeExact(%s)%s;\n", result == "T" ? "text(" : "", \
            result == "T" ? "long" : java(result), toupper(substr(function_name, 6)), given(0), result == "T" ? ")" : ""
        print "        } catch (Throwable failure) {\n            throw FfmBackend.broken(failure);\n        }\n    }"
        table = table sprintf("        static final MethodHandle %s = FfmBackend.%s(\"%s\", \"%s\");\n", \
            toupper(substr(function_name, 6)), quick ? "quick" : "bind", function_name, signature(result == "T" ? "J" : result))
    }
}

BEGIN {
    made = "made of klog.h by src/main/c/functions.awk. */"
    if (as == "interface") print "package io.klog;\n\n/** The functions of klog.h, " made "\ninterface Functions {"
    if (as == "jni") print "package io.klog;\n\n/** The functions of klog.h over JNI, " made "\nabstract class JniFunctions implements Backend {"
    if (as == "ffm") print "package io.klog;\n\nimport java.lang.invoke.MethodHandle;\n\n/** The functions of klog.h over java.lang.foreign, " made \
        "\nabstract class FfmFunctions implements Backend {"
    if (as == "c") print "/* The functions of klog.h for io.klog.JniFunctions, " substr(made, 1, length(made) - 3) " */\n"
}

# What neither takes locks nor makes system calls; the comment stands before the declaration.
/cost class C/ { quick = /cost class C0\./ }
/^[a-z].*[ *]klog_[a-z0-9_]+\(/ && !/klog_init/ { declaration = ""; open = 1 }
open {
    gsub(/^ +/, "")
    declaration = declaration (declaration == "" ? "" : " ") $0
    if (/\);/) {
        open = 0
        declared(declaration)
        quick = 0
    }
}

END {
    if (as == "c") printf "static const JNINativeMethod functions[] = {\n%s};\n", table
    if (as == "ffm") printf "\n    /** Bound when the first is called: constants, so that calls are compiled into their callers. */\n" \
        "    private static final class Calls {\n%s\n        private Calls() {\n        }\n    }\n", table
    if (as != "c") print "}"
}
