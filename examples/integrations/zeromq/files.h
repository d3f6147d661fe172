/* files.h - whole files in, whole files out: what is replaced is the old bytes or the new ones,
   whatever dies in between. POSIX; define _POSIX_C_SOURCE 200809L first.

       size_t size;
       unsigned char *bytes = file_read("state", 1 << 20, &size);    // NULL: errno says why
       if (file_replace("state", bytes, size, 1) != 0) perror("state");
       free(bytes); */
#ifndef FILES_H
#define FILES_H
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__GNUC__)
#define NET_FN static __attribute__((unused))
#else
#define NET_FN static
#endif

/* 4 GB, almost: more than a state or a journal in memory needs; a size_t may have 32 bits */
#define FILE_MOST ((size_t)0xfffffff0u)

/* Ends in a 0 that size does not count. NULL: errno; a file of more than `most` bytes: EFBIG. */
NET_FN unsigned char *file_read(const char *path, size_t most, size_t *size) {
    const int fd = open(path, O_RDONLY);
    struct stat about;
    unsigned char *bytes = NULL;
    ssize_t got = 1;
    if (fd < 0 || fstat(fd, &about) != 0) return NULL;
    if (about.st_size < 0 || (size_t)about.st_size > most)
        errno = EFBIG;
    else
        bytes = (unsigned char *)malloc((size_t)about.st_size + 1);
    for (*size = 0; bytes && got > 0 && *size < (size_t)about.st_size; *size += (size_t)got)
        got = read(fd, bytes + *size, (size_t)about.st_size - *size);
    close(fd);
    if (bytes && got < 0) {
        free(bytes);
        return NULL;
    }
    if (bytes) bytes[*size] = 0;
    return bytes;
}

NET_FN int file_write_all(int fd, const void *bytes, size_t size) {
    const char *at = (const char *)bytes;
    while (size) {
        const ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return -1;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

/* the name of a file is a change of its directory, which has to reach the disk as well */
NET_FN int file_sync_directory(const char *path) {
    char directory[512];
    const char *slash = strrchr(path, '/');
    const int length = slash ? (int)(slash - path) + 1 : 1;
    snprintf(directory, sizeof directory, "%.*s", length, slash ? path : ".");
    const int fd = open(directory, O_RDONLY);
    if (fd < 0) return -1;
    const int bad = fsync(fd);
    close(fd);
    return bad;
}

/* PATH.new, flushed to the disk if sync. Always a new file: one that is there may be somebody's who
   waits for what is written to it, a secret perhaps. 0, or -1 and errno. */
NET_FN int file_write_beside(const char *path, const void *bytes, size_t size, int sync) {
    char beside[512];
    if (snprintf(beside, sizeof beside, "%s.new", path) >= (int)sizeof beside)
        return errno = ENAMETOOLONG, -1;
    (void)unlink(beside);
    const int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0) return -1;
    int bad = file_write_all(fd, bytes, size) != 0 || (sync && fsync(fd) != 0);
    int why = errno;
    if (close(fd) != 0 && !bad) bad = 1, why = errno;
    if (!bad) return 0;
    (void)unlink(beside); /* half of it is of no use, and the disk may be full */
    return errno = why, -1;
}

/* Whoever comes second is told EBUSY, until the first one ends, however it ends. By PATH.lock, as
   PATH itself is replaced; whether the file system has locks at all is not our business. 0, or -1
   and errno. */
NET_FN int file_hold(const char *path) {
    char beside[512];
    struct flock all;
    if (snprintf(beside, sizeof beside, "%s.lock", path) >= (int)sizeof beside)
        return errno = ENAMETOOLONG, -1;
    const int fd = open(beside, O_RDWR | O_CREAT, 0600); /* open until the program ends */
    if (fd < 0) return -1;
    memset(&all, 0, sizeof all);
    all.l_type = F_WRLCK;
    all.l_whence = SEEK_SET;
    if (fcntl(fd, F_SETLK, &all) == 0 || (errno != EACCES && errno != EAGAIN)) return 0;
    close(fd);
    return errno = EBUSY, -1;
}

/* PATH.new takes the place of PATH */
NET_FN int file_put_in_place(const char *path, int sync) {
    char beside[512];
    snprintf(beside, sizeof beside, "%s.new", path);
    if (rename(beside, path) != 0) return -1;
    return sync ? file_sync_directory(path) : 0;
}

/* Written beside it, flushed to the disk, renamed, the directory flushed. sync 0: not flushed, for
   what may be lost with the machine, but not with the program. 0, or -1 and errno. */
NET_FN int file_replace(const char *path, const void *bytes, size_t size, int sync) {
    return file_write_beside(path, bytes, size, sync) == 0 ? file_put_in_place(path, sync) : -1;
}
#endif /* FILES_H */
