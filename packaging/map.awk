# Makes the version script of the shared library out of the functions that klog.h declares: `make header` runs it.
BEGIN { print "/* Rendered from include/klog.h by `make header`. */\nKLOG_0_1 {\n    global:" }
/^[a-z].*klog_[a-z_]+\(/ && !/klog_init/ { match($0, /klog_[a-z_]+\(/); print "        " substr($0, RSTART, RLENGTH - 1) ";" | "LC_ALL=C sort" }
END { close("LC_ALL=C sort"); print "    local:\n        *;\n};" }
