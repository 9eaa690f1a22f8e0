/* Preloaded into a process: lets one operation on files fail whose path holds a text.
 *
 * FAULT_PATH is the text, FAULT_KIND one of write, sync, open (to write) and rename, FAULT_COUNT
 * which of them fails (the others do not), and FAULT_ERROR the number of the error.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static atomic_int met;

static int fails(const char *kind, const char *path)
{
    const char *wanted = getenv("FAULT_KIND"), *text = getenv("FAULT_PATH");
    if (!wanted || !text || strcmp(wanted, kind) || !strstr(path, text))
        return 0;
    if (atomic_fetch_add(&met, 1) + 1 != atoi(getenv("FAULT_COUNT")))
        return 0;
    errno = atoi(getenv("FAULT_ERROR"));
    return 1;
}

static int file_fails(const char *kind, int file)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    if (size < 0)
        return 0;
    path[size] = 0;
    return fails(kind, path);
}

#define OPEN(name, parameters, arguments)                                                 \
    int name parameters                                                                           \
    {                                                                                             \
        va_list rest;                                                                             \
        va_start(rest, flags);                                                                    \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;                 \
        va_end(rest);                                                                             \
        if (flags & (O_WRONLY | O_RDWR) && fails("open", path))                                   \
            return -1;                                                                            \
        return REAL(name) arguments;                                                              \
    }
OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))
OPEN(openat64, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))

#define WRITE(name, parameters, arguments)                                                        \
    ssize_t name parameters                                                                       \
    {                                                                                             \
        return file_fails("write", file) ? -1 : REAL(name) arguments;                                     \
    }
WRITE(write, (int file, const void *data, size_t size), (file, data, size))
WRITE(writev, (int file, const struct iovec *parts, int count), (file, parts, count))
WRITE(pwrite, (int file, const void *data, size_t size, off_t at), (file, data, size, at))
WRITE(pwrite64, (int file, const void *data, size_t size, off_t at), (file, data, size, at))

int fsync(int file) { return file_fails("sync", file) ? -1 : REAL(fsync)(file); }

int fdatasync(int file) { return file_fails("sync", file) ? -1 : REAL(fdatasync)(file); }

int rename(const char *path, const char *to)
{
    return fails("rename", to) ? -1 : REAL(rename)(path, to);
}
