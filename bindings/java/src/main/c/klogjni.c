/*
 * The functions of klog.h for io.klog.JniBackend: handles arrive as their ids, pointers as numbers. Nothing is copied, kept
 * or translated; there are no callbacks into Java and no critical regions. klog checks what it is given.
 */
#include <jni.h>

#include "klog.h"
#include "functions.inc"

static jlong JNICALL address(JNIEnv *env, jobject self, jobject direct) {
    (void)self;
    return (jlong)(intptr_t)(*env)->GetDirectBufferAddress(env, direct);
}

static jstring JNICALL text(JNIEnv *env, jobject self, jlong at) {
    (void)self;
    return (*env)->NewStringUTF(env, (const char *)(intptr_t)at);
}

static const JNINativeMethod others[] = {
    { (char *)"address", (char *)"(Ljava/nio/ByteBuffer;)J", (void *)address },
    { (char *)"text", (char *)"(J)Ljava/lang/String;", (void *)text },
};

static int bind(JNIEnv *env, const char *class_name, const JNINativeMethod *methods, size_t bytes) {
    jclass of = (*env)->FindClass(env, class_name);
    return of != NULL && (*env)->RegisterNatives(env, of, methods, (jint)(bytes / sizeof *methods)) == JNI_OK;
}

/* Binds here, not by the names of functions: the classes are those of the loader that loads this file, whatever thread asks. */
JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved) {
    JNIEnv *env;
    klog_error err = KLOG_INIT(klog_error);
    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK) {
        return JNI_ERR;
    }
    if (klog_abi_check(KLOG_ABI, KLOG_LAYOUT_HASH, &err) != KLOG_OK) {
        jclass link_error = (*env)->FindClass(env, "java/lang/UnsatisfiedLinkError");
        if (link_error != NULL) {
            (*env)->ThrowNew(env, link_error, err.message);
        }
        return JNI_ERR;
    }
    if (!bind(env, "io/klog/JniFunctions", functions, sizeof functions)
        || !bind(env, "io/klog/JniBackend", others, sizeof others)) {
        return JNI_ERR;
    }
    return JNI_VERSION_1_8;
}
