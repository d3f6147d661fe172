/* journal.h - what the server took, in the order in which it took it: every message that was
   accepted, every tick that mattered, the rows of every update and a hash of theta after it. Fed to
   a hub in one process it gives the same bits: see replay.h.

   A file: a head line, "federation 1 task CartPole ...", then records of a kind (1 byte), a length
   (4) and so many bytes; little-endian.
       M  from (4), a message       T  time (8)
       U  round (8), status (8), hash of theta (8), for each peer the age of its row (1; 255: none)
       C  round, hash: a state is about to be saved    L  round, hash: such a state was loaded */
#ifndef JOURNAL_H
#define JOURNAL_H
#include "run.h"

typedef struct journal {
    FILE *file; /* NULL: nothing is written */
    int old;    /* an earlier run of the program wrote to it */
} journal;

NET_FN void journal_number(unsigned char *to, uint64_t x, size_t bytes) {
    for (size_t b = 0; b < bytes; b++) to[b] = (unsigned char)(x >> (8 * b));
}

NET_FN uint64_t journal_value(const unsigned char *from, size_t bytes) {
    uint64_t x = 0;
    for (size_t b = 0; b < bytes; b++) x |= (uint64_t)from[b] << (8 * b);
    return x;
}

NET_FN void journal_head(const run *r, char *text, size_t size) {
    char about[256];
    run_write(r, about, sizeof about);
    snprintf(text, size, "federation 1 %s\n", about);
}

/* Where the last whole record ends; 0: the head is another one. Record by record: a server may have
   less memory than its journal is long. What cannot be read sets the file's error: it is not to be
   cut off. */
NET_FN uint64_t journal_end(FILE *f, uint64_t size, const char *head) {
    char begin[320];
    unsigned char record[5];
    const size_t n = strlen(head);
    uint64_t at = n, next = n;
    if (fread(begin, 1, n, f) != n || memcmp(begin, head, n) != 0) return 0;
    while (next <= size) {
        at = next;
        if (fseeko(f, (off_t)at, SEEK_SET) != 0) break;
        if (fread(record, 1, sizeof record, f) != sizeof record) break;
        next = at + sizeof record + journal_value(record + 1, 4);
    }
    return at;
}

/* the same of a journal in memory */
NET_FN size_t journal_whole(const unsigned char *bytes, size_t size, const char *head) {
    size_t at = strlen(head);
    if (size < at || memcmp(bytes, head, at) != 0) return 0;
    while (size - at >= 5 && size - at - 5 >= journal_value(bytes + at + 1, 4))
        at += 5 + (size_t)journal_value(bytes + at + 1, 4);
    return at;
}

/* 0, or -1: the disk is full */
NET_FN int journal_flush(journal *j) {
    return j->file && (fflush(j->file) != 0 || ferror(j->file)) ? -1 : 0;
}

/* as above, and the disk has it: for states that are on the disk themselves */
NET_FN int journal_sync(journal *j) {
    return journal_flush(j) != 0 || (j->file && fsync(fileno(j->file)) != 0) ? -1 : 0;
}

/* Goes on with what is there, less a record that was cut short. round: of the hub. */
NET_FN void journal_open(journal *j, const char *path, const run *r, size_t round) {
    char head[320];
    struct stat about;
    uint64_t whole = 0;
    run_hold(path);
    journal_head(r, head, sizeof head);
    j->file = fopen(path, "ab+");
    if (!j->file || fstat(fileno(j->file), &about) != 0) run_refuse(path, strerror(errno));
    j->old = about.st_size != 0;
    if (j->old) whole = journal_end(j->file, (uint64_t)about.st_size, head);
    if (ferror(j->file)) run_refuse(path, strerror(errno));
    if (j->old && !whole)
        run_refuse(path, "a journal of other settings: give it another name, or remove it");
    if (!j->old && round > 1) /* nobody could replay that: messages to a state that is not there */
        run_refuse(path, "a journal begins with its run, but the state is of a later round: go on "
                         "without it, or with the journal of that run");
    if (ftruncate(fileno(j->file), (off_t)whole) != 0 || fseeko(j->file, 0, SEEK_END) != 0)
        run_refuse(path, strerror(errno));
    if (!j->old) fputs(head, j->file); /* flushed: who dies before the first round leaves a head */
    if (journal_flush(j) != 0) run_refuse(path, strerror(errno));
}

NET_FN void journal_add(journal *j, char kind, const void *a, size_t an, const void *b, size_t bn) {
    unsigned char head[5];
    if (!j->file) return;
    head[0] = (unsigned char)kind;
    journal_number(head + 1, an + bn, 4);
    fwrite(head, 1, sizeof head, j->file);
    fwrite(a, 1, an, j->file);
    if (bn) fwrite(b, 1, bn, j->file);
}

NET_FN void journal_message(journal *j, size_t from, const void *bytes, size_t size) {
    unsigned char number[4];
    journal_number(number, from, 4);
    journal_add(j, 'M', number, 4, bytes, size);
}

NET_FN void journal_tick(journal *j, uint64_t now) {
    unsigned char number[8];
    journal_number(number, now, 8);
    journal_add(j, 'T', number, 8, NULL, 0);
}

/* what an update leaves behind; ages: one byte for each peer */
NET_FN void journal_ages(const rn_hub *hub, size_t n, unsigned char *ages) {
    for (size_t i = 0; i < n; i++) {
        const size_t age = rn_hub_report(hub, i)->age;
        ages[i] = (unsigned char)(age > 254 ? 255 : age);
    }
}

NET_FN uint64_t journal_theta(rn_hub *hub, const run *r) {
    return run_hash(rn_server_theta(rn_hub_server(hub)), r->recipe.policy.dim);
}

NET_FN void journal_update(journal *j, rn_hub *hub, const run *r, rn_status s) {
    unsigned char numbers[24], *ages = (unsigned char *)malloc(r->agents);
    if (!j->file || !ages) {
        free(ages);
        return;
    }
    journal_number(numbers, rn_server_current_round(rn_hub_server(hub)) - 1, 8);
    journal_number(numbers + 8, (uint64_t)s, 8);
    journal_number(numbers + 16, journal_theta(hub, r), 8);
    journal_ages(hub, r->agents, ages);
    journal_add(j, 'U', numbers, sizeof numbers, ages, r->agents);
    free(ages);
}

/* C or L */
NET_FN void journal_state(journal *j, char kind, rn_hub *hub, const run *r) {
    unsigned char numbers[16];
    journal_number(numbers, rn_server_current_round(rn_hub_server(hub)), 8);
    journal_number(numbers + 8, journal_theta(hub, r), 8);
    journal_add(j, kind, numbers, sizeof numbers, NULL, 0);
}
#endif /* JOURNAL_H */
