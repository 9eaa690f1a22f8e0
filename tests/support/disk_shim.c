/* Preloaded into a process: logs what the process does to files, and makes operations fail.
 *
 * DISK_ROOT is the folder whose files are logged, in order, for power_disk.py; DISK_LOG is the log.
 * Data written to DISK_LOG.marks becomes marks in the log. A record is a header of 48 bytes, one or
 * two paths, and data. Without DISK_LOG nothing is logged.
 *
 * DISK_FAULT is a file with one `struct fault`, which failing_disk.py changes while the process runs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILES 4096
#define MARKS UINT64_MAX
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define LOCKED(type, fault, call)                                                                 \
    pthread_mutex_lock(&lock);                                                                    \
    type result = fault ? -1 : call;                                                              \
    int error = errno
#define DONE                                                                                      \
    pthread_mutex_unlock(&lock);                                                                  \
    errno = error;                                                                                \
    return result

struct head {
    uint64_t kind, inode, offset, path_bytes, other_bytes, data_bytes;
};

/* The operations of a kind on files whose path matches a pattern: the operation number `first` and
 * the `times` - 1 after it fail with `error`. Of the kind "bytes", `first` bytes are written, then
 * nothing more. */
struct fault {
    int32_t met, failed, first, times, error;
    char kind[12], pattern[480];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t inodes[FILES]; /* of descriptors that were opened under the folder */
static char root[PATH_MAX], marks[PATH_MAX];
static int log_file = -1;
static struct fault *fault;

static void record(char kind, uint64_t inode, uint64_t offset, const char *path, const char *other,
                   const void *data, size_t size)
{
    if (log_file < 0)
        return;
    struct head head = {(uint64_t)kind, inode, offset, strlen(path), strlen(other), size};
    struct iovec parts[] = {{&head, sizeof head},
                            {(void *)path, head.path_bytes},
                            {(void *)other, head.other_bytes},
                            {(void *)data, size}};
    ssize_t whole = (ssize_t)(sizeof head + head.path_bytes + head.other_bytes + size);
    if (REAL(writev)(log_file, parts, 4) != whole)
        abort();
}

static void begin_log(const char *log)
{
    struct stat found;
    const char *folder = getenv("DISK_ROOT");
    if (!folder || stat(folder, &found))
        abort();
    snprintf(root, sizeof root, "%s", folder);
    snprintf(marks, sizeof marks, "%s.marks", log);
    int file = REAL(open)(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    log_file = fcntl(file, F_DUPFD_CLOEXEC, 1000); /* out of the way of the process's own */
    close(file);
    record('B', found.st_ino, 0, "", "", "", 0);
}

__attribute__((constructor)) static void begin(void)
{
    if (getenv("DISK_LOG"))
        begin_log(getenv("DISK_LOG"));
    if (getenv("DISK_FAULT")) {
        int file = REAL(open)(getenv("DISK_FAULT"), O_RDWR);
        fault = mmap(NULL, sizeof *fault, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
        if (fault == MAP_FAILED)
            abort();
    }
}

/* Whether this operation fails; it takes space on the disk if `takes_space`. */
static int fails(const char *kind, const char *path, int takes_space)
{
    if (!fault || !fault->times || fnmatch(fault->pattern, path, 0))
        return 0;
    int is_of_bytes = !strcmp(fault->kind, "bytes");
    if (strcmp(fault->kind, kind) && !(takes_space && (is_of_bytes || !strcmp(fault->kind, "space"))))
        return 0;
    if (is_of_bytes && __atomic_load_n(&fault->met, __ATOMIC_SEQ_CST) < fault->first)
        return 0;
    int number = is_of_bytes ? fault->first : __atomic_add_fetch(&fault->met, 1, __ATOMIC_SEQ_CST);
    if (number < fault->first || number - fault->first >= fault->times)
        return 0;
    __atomic_add_fetch(&fault->failed, 1, __ATOMIC_SEQ_CST);
    errno = fault->error;
    return 1;
}

static int find_path(int file, char *path)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    path[size < 0 ? 0 : size] = 0;
    return size >= 0;
}

static int file_fails(const char *kind, int file, int takes_space)
{
    char path[PATH_MAX];
    return fault && fault->times && find_path(file, path) && fails(kind, path, takes_space);
}

/* How many bytes of a write there is room for. */
static size_t fitting(int file, size_t size)
{
    char path[PATH_MAX];
    if (!fault || !fault->times || strcmp(fault->kind, "bytes") || !find_path(file, path) ||
        fnmatch(fault->pattern, path, 0))
        return size;
    int32_t room = fault->first - __atomic_fetch_add(&fault->met, (int32_t)size, __ATOMIC_SEQ_CST);
    return room < 0 ? 0 : (size_t)room < size ? (size_t)room : size;
}

/* How much of a write is done: all, what there is room for, or half of it while writes are short. */
static size_t shortened(int file, size_t size)
{
    size = fitting(file, size);
    return size > 1 && file_fails("short", file, 0) ? size / 2 : size;
}

/* The path below the folder, empty for itself; NULL if it is elsewhere. */
static const char *below(int folder, const char *path, char *whole)
{
    if (path[0] == '/') {
        snprintf(whole, PATH_MAX, "%s", path);
    } else {
        char link[64];
        snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
        ssize_t size = readlink(link, whole, PATH_MAX - 1);
        if (size < 0)
            return NULL;
        snprintf(whole + size, (size_t)(PATH_MAX - size), "/%s", path);
    }
    size_t size = strlen(root);
    if (strncmp(whole, root, size) || (whole[size] && whole[size] != '/'))
        return NULL;
    return whole + size + (whole[size] == '/');
}

static uint64_t inode_of(int file)
{
    struct stat found;
    if (file < 0 || file >= FILES || !inodes[file])
        return 0;
    if (inodes[file] == MARKS)
        return MARKS;
    return !fstat(file, &found) && found.st_ino == inodes[file] ? found.st_ino : 0;
}

static int opened(int folder, const char *path, int flags, mode_t mode)
{
    char whole[PATH_MAX];
    struct stat found;
    pthread_mutex_lock(&lock);
    const char *name = below(folder, path, whole);
    int was_there = name && !lstat(whole, &found);
    int is_new = flags & O_CREAT && faccessat(folder, path, F_OK, 0);
    int is_failing = flags & (O_WRONLY | O_RDWR) && fails("open", path, is_new);
    int file = is_failing ? -1 : REAL(openat)(folder, path, flags, mode);
    int error = errno;
    if (file >= 0 && file < FILES)
        inodes[file] = strcmp(path, marks) ? 0 : MARKS;
    if (file >= 0 && file < FILES && name && !fstat(file, &found)) {
        inodes[file] = found.st_ino;
        if (!was_there)
            record('C', found.st_ino, 0, name, "", "", 0);
        else if (flags & O_TRUNC)
            record('T', found.st_ino, 0, "", "", "", 0);
    }
    pthread_mutex_unlock(&lock);
    errno = error;
    return file;
}

#define OPEN(name, parameters, folder)                                                            \
    int name parameters                                                                           \
    {                                                                                             \
        va_list rest;                                                                             \
        va_start(rest, flags);                                                                    \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;                 \
        va_end(rest);                                                                             \
        return opened(folder, path, flags, mode);                                                 \
    }
OPEN(open, (const char *path, int flags, ...), AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD)
OPEN(openat, (int folder, const char *path, int flags, ...), folder)
OPEN(openat64, (int folder, const char *path, int flags, ...), folder)

static void wrote(int file, off_t offset, const void *data, ssize_t size)
{
    uint64_t inode = size > 0 ? inode_of(file) : 0;
    if (inode == MARKS)
        record('M', 0, 0, "", "", data, (size_t)size);
    else if (inode)
        record('W', inode, (uint64_t)(offset < 0 ? lseek(file, 0, SEEK_CUR) - size : offset), "", "",
               data, (size_t)size);
}

static void wrote_all(int file, off_t offset, const struct iovec *parts, int count, ssize_t size)
{
    for (int i = 0; i < count && size > 0 && inode_of(file); i++) {
        ssize_t part = size < (ssize_t)parts[i].iov_len ? size : (ssize_t)parts[i].iov_len;
        off_t start = offset < 0 ? lseek(file, 0, SEEK_CUR) - size : offset;
        wrote(file, start, parts[i].iov_base, part);
        size -= part;
        offset += offset < 0 ? 0 : part;
    }
}

ssize_t write(int file, const void *data, size_t size)
{
    LOCKED(ssize_t, file_fails("write", file, 1),
           REAL(write)(file, data, shortened(file, size)));
    wrote(file, -1, data, result);
    DONE;
}

ssize_t writev(int file, const struct iovec *parts, int count)
{
    LOCKED(ssize_t, file_fails("write", file, 1), REAL(writev)(file, parts, count));
    wrote_all(file, -1, parts, count, result);
    DONE;
}

#define PWRITE(name)                                                                              \
    ssize_t name(int file, const void *data, size_t size, off_t offset)                           \
    {                                                                                             \
        LOCKED(ssize_t, file_fails("write", file, 1),                                             \
               REAL(name)(file, data, shortened(file, size), offset));                            \
        wrote(file, offset, data, result);                                                        \
        DONE;                                                                                     \
    }
#define PWRITEV(name)                                                                             \
    ssize_t name(int file, const struct iovec *parts, int count, off_t offset)                    \
    {                                                                                             \
        LOCKED(ssize_t, file_fails("write", file, 1), REAL(name)(file, parts, count, offset));    \
        wrote_all(file, offset, parts, count, result);                                            \
        DONE;                                                                                     \
    }
#define ON_FILE(name, parameters, arguments, fault, kind, offset, byte_count)                     \
    int name parameters                                                                           \
    {                                                                                             \
        LOCKED(int, fault, REAL(name) arguments);                                                 \
        uint64_t inode = result ? 0 : inode_of(file);                                             \
        char count[32];                                                                           \
        if (inode)                                                                                \
            record(kind, inode, (uint64_t)(offset), "", "", count,                                \
                   (size_t)snprintf(count, sizeof count, "%lld", (long long)(byte_count)));       \
        DONE;                                                                                     \
    }
PWRITE(pwrite)
PWRITE(pwrite64)
PWRITEV(pwritev)
PWRITEV(pwritev64)
#define SIZED(name)                                                                               \
    ON_FILE(name, (int file, off_t size), (file, size), file_fails("truncate", file, 0), 'T',     \
            size, 0)
#define ALLOCATED(name)                                                                           \
    ON_FILE(name, (int file, int mode, off_t offset, off_t size), (file, mode, offset, size),     \
            file_fails("write", file, 1), mode & FALLOC_FL_PUNCH_HOLE ? 'Z' : 'A', offset, size)
SIZED(ftruncate)
SIZED(ftruncate64)
ALLOCATED(fallocate)
ALLOCATED(fallocate64)

/* A failed sync is logged too: of what was written before it, later syncs make nothing safe. */
#define SYNC(name)                                                                                \
    int name(int file)                                                                            \
    {                                                                                             \
        int is_failing = file_fails("sync", file, 0);                                             \
        LOCKED(int, is_failing, REAL(name)(file));                                                \
        uint64_t inode = inode_of(file);                                                          \
        if (inode && inode != MARKS)                                                              \
            record(result ? 'F' : 'S', inode, 0, "", "", "", 0);                                  \
        DONE;                                                                                     \
    }
SYNC(fsync)
SYNC(fdatasync)

#define READ(name, parameters, arguments)                                                         \
    ssize_t name parameters                                                                       \
    {                                                                                             \
        return file_fails("read", file, 0) ? -1 : REAL(name) arguments;                           \
    }
READ(read, (int file, void *data, size_t size), (file, data, size))
READ(pread, (int file, void *data, size_t size, off_t offset), (file, data, size, offset))
READ(pread64, (int file, void *data, size_t size, off_t offset), (file, data, size, offset))

/* Copies in the kernel could be neither logged nor made to fail, so callers must write instead. */
ssize_t copy_file_range(int in, off_t *from, int out, off_t *to, size_t size, unsigned flags)
{
    (void)in, (void)from, (void)out, (void)to, (void)size, (void)flags;
    errno = ENOSYS;
    return -1;
}

int ioctl(int file, unsigned long request, ...)
{
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (request == 0x40049409) { /* FICLONE */
        errno = EOPNOTSUPP;
        return -1;
    }
    return REAL(ioctl)(file, request, argument);
}

static void named(char kind, int folder, const char *path, int other_folder, const char *other)
{
    char whole[PATH_MAX], other_whole[PATH_MAX];
    struct stat found = {0};
    const char *name = below(folder, path, whole);
    const char *second = other ? below(other_folder, other, other_whole) : "";
    if (kind == 'D')
        stat(whole, &found);
    if (name && second)
        record(kind, found.st_ino, 0, name, second, "", 0);
}

#define ON_NAME(name, parameters, arguments, fault, kind, folder, path, other_folder, other)      \
    int name parameters                                                                           \
    {                                                                                             \
        LOCKED(int, fault, REAL(name) arguments);                                                 \
        if (!result)                                                                              \
            named(kind, folder, path, other_folder, other);                                       \
        DONE;                                                                                     \
    }
ON_NAME(mkdir, (const char *path, mode_t mode), (path, mode),
        fails("mkdir", path, 1), 'D', AT_FDCWD, path, 0, NULL)
ON_NAME(mkdirat, (int at, const char *path, mode_t mode), (at, path, mode),
        fails("mkdir", path, 1), 'D', at, path, 0, NULL)
ON_NAME(unlink, (const char *path), (path),
        fails("unlink", path, 0), 'U', AT_FDCWD, path, 0, NULL)
ON_NAME(rmdir, (const char *path), (path),
        fails("unlink", path, 0), 'U', AT_FDCWD, path, 0, NULL)
ON_NAME(remove, (const char *path), (path),
        fails("unlink", path, 0), 'U', AT_FDCWD, path, 0, NULL)
ON_NAME(unlinkat, (int at, const char *path, int flags), (at, path, flags),
        fails("unlink", path, 0), 'U', at, path, 0, NULL)
ON_NAME(rename, (const char *path, const char *to), (path, to),
        fails("rename", to, 0), 'R', AT_FDCWD, path, AT_FDCWD, to)
ON_NAME(renameat, (int at, const char *path, int into, const char *to), (at, path, into, to),
        fails("rename", to, 0), 'R', at, path, into, to)
ON_NAME(link, (const char *path, const char *to), (path, to),
        fails("rename", to, 0), 'L', AT_FDCWD, path, AT_FDCWD, to)
