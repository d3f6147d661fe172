/* keys.h - who may speak: CURVE key pairs in files, and a list that gives each public key one place
   in the federation.

   A key file (NAME.secret, readable by its owner only; NAME.public lacks the last line):
       public rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7
       secret JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6
   A list of those allowed, a line each: the agent's number, its public key, words of yours:
       0 Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID in the attic
   A number or a key that stands there twice is an error: one key, one vote. */
#ifndef KEYS_H
#define KEYS_H
#include "files.h"
#include <zmq.h>

enum { KEY_TEXT = 41, KEYS_MOST = 4096 }; /* Z85, and the 0 at its end; agents in a list */

typedef struct key_pair {
    char open[KEY_TEXT], secret[KEY_TEXT];
} key_pair;

typedef struct key_list {
    size_t n;              /* agents of the run */
    char (*key)[KEY_TEXT]; /* n of them; "": nobody has this place */
} key_list;

/* ends the program: NAME: WHY */
NET_FN void keys_refuse(const char *name, const char *why) {
    fprintf(stderr, "%s: %s\n", name, why);
    exit(1);
}

/* the word after `tag` at the start of a line; 0: there is none, or it is not a key */
NET_FN int keys_find(const char *text, const char *tag, char key[KEY_TEXT]) {
    unsigned char raw[32];
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, tag, strlen(tag)) != 0) continue;
        snprintf(key, KEY_TEXT, "%.*s", KEY_TEXT - 1, line + strlen(tag));
        return strlen(key) == KEY_TEXT - 1 && zmq_z85_decode(raw, key) != NULL;
    }
    return 0;
}

NET_FN char *keys_text(const char *path) {
    size_t size;
    char *text = (char *)file_read(path, 1 << 20, &size);
    if (!text) keys_refuse(path, strerror(errno));
    return text;
}

/* a pair of one's own; others must not be able to read it */
NET_FN key_pair keys_load_pair(const char *path) {
    key_pair k;
    struct stat about;
    char *text = keys_text(path);
    if (stat(path, &about) == 0 && (about.st_mode & 077) != 0)
        keys_refuse(path, "others can read this secret: chmod 600");
    if (!keys_find(text, "public ", k.open) || !keys_find(text, "secret ", k.secret))
        keys_refuse(path, "not a secret key file: `federation keys` makes one");
    free(text);
    return k;
}

/* somebody else's public key */
NET_FN void keys_load_open(const char *path, char key[KEY_TEXT]) {
    char *text = keys_text(path);
    if (!keys_find(text, "public ", key))
        keys_refuse(path, "not a key file: `federation keys` makes one");
    free(text);
}

/* ---- the list */
NET_FN int keys_index(const key_list *l, const char *key) {
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->key[i], key) == 0) return (int)i;
    return -1;
}

NET_FN size_t keys_count(const key_list *l) {
    size_t count = 0;
    for (size_t i = 0; i < l->n; i++) count += l->key[i][0] != 0;
    return count;
}

NET_FN void keys_refuse_line(const char *path, int number, const char *why) {
    char text[160];
    snprintf(text, sizeof text, "line %d: %s", number, why);
    keys_refuse(path, text);
}

NET_FN void keys_add(key_list *l, const char *path, int number, char *line) {
    unsigned char raw[32];
    char *end;
    const unsigned long index = strtoul(line, &end, 10);
    char *key = end + strspn(end, " \t");
    if (end == line || key == end) keys_refuse_line(path, number, "not `number key`");
    key[strcspn(key, " \t\r")] = 0;
    if (strlen(key) != KEY_TEXT - 1 || !zmq_z85_decode(raw, key))
        keys_refuse_line(path, number, "not a key");
    if (index >= l->n) keys_refuse_line(path, number, "there is no agent of this number");
    if (l->key[index][0]) keys_refuse_line(path, number, "this agent has a key already");
    if (keys_index(l, key) >= 0) keys_refuse_line(path, number, "another agent has this key");
    snprintf(l->key[index], KEY_TEXT, "%s", key);
}

NET_FN key_list keys_load_list(const char *path, size_t n) {
    key_list l = {n, (char(*)[KEY_TEXT])calloc(n, KEY_TEXT)};
    char *text = keys_text(path), *line = text, *next;
    if (!l.key) keys_refuse(path, "no memory");
    for (int number = 1; line; line = next, number++) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        line += strspn(line, " \t\r");
        if (*line && *line != '#') keys_add(&l, path, number, line);
    }
    free(text);
    return l;
}

/* ---- making them */
NET_FN void keys_write(const char *name, const char *ending, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s.%s", name, ending);
    if (access(path, F_OK) == 0) keys_refuse(path, "is there already, and stays as it is");
    if (file_replace(path, text, strlen(text), 1) != 0) keys_refuse(path, strerror(errno));
}

/* NAME.secret and NAME.public */
NET_FN key_pair keys_make(const char *name) {
    key_pair k;
    char text[160];
    if (zmq_curve_keypair(k.open, k.secret) != 0)
        keys_refuse(name, "this libzmq was built without CURVE");
    snprintf(text, sizeof text, "public %s\nsecret %s\n", k.open, k.secret);
    keys_write(name, "secret", text);
    snprintf(text, sizeof text, "public %s\n", k.open);
    keys_write(name, "public", text);
    return k;
}

/* all of a federation in one directory: server, agent0 .. , and the list `allowed` */
NET_FN void keys_make_all(const char *directory, size_t agents) {
    char name[480], line[64];
    char *list = (char *)calloc(agents + 1, sizeof line);
    if (!list) keys_refuse(directory, "no memory");
    if (mkdir(directory, 0700) != 0 && errno != EEXIST) keys_refuse(directory, strerror(errno));
    snprintf(name, sizeof name, "%s/server", directory);
    (void)keys_make(name);
    for (size_t i = 0; i < agents; i++) {
        snprintf(name, sizeof name, "%s/agent%d", directory, (int)i);
        const key_pair made = keys_make(name);
        snprintf(line, sizeof line, "%d %s\n", (int)i, made.open);
        strcat(list, line);
    }
    snprintf(name, sizeof name, "%s/allowed", directory);
    if (file_replace(name, list, strlen(list), 1) != 0) keys_refuse(name, strerror(errno));
    free(list);
}
#endif /* KEYS_H */
