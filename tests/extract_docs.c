/* extract_docs - takes the examples out of the documentation, so that the tests compile and run
   what readers copy.

   usage: extract_docs OUT_DIR file...

   In a header (*.h): the lines indented deeper than a line that starts with QUICK START or EXAMPLE.
   In Markdown (*.md): the blocks fenced by ```c. Both become OUT_DIR/<file>_<line>.c, where <file>
   is the path without its ending and with _ for /. A block without main() gets one. Before a block
   that includes none of the two headers comes the one it is about: that of its file; in Markdown
   resnharpg.h if it names something rn_, else aggregators.h.

   A comment `// prints: text` promises one line of output; in order they become
   OUT_DIR/<file>_<line>.expected. From Markdown also: OUT_DIR/targets (file:line target, of every
   `make target` between backticks on one line or at the beginning of a line of a ```sh block) and
   OUT_DIR/links (file:line path, of every link or image that is not a web address). Paths in a page
   are relative to it; those in OUT_DIR/links are relative to where extract_docs runs. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINE 1024

typedef struct text { /* a file as lines without their ends */
    const char *name;
    char (*line)[MAX_LINE];
    size_t count;
} text;

typedef struct output {
    const char *dir;
    FILE *targets, *links;
} output;

static void die(const char *what, const char *name) {
    fprintf(stderr, "extract_docs: %s %s\n", what, name);
    exit(EXIT_FAILURE);
}

static FILE *open_file(const char *name, const char *mode) {
    FILE *file = fopen(name, mode);
    if (!file) die("cannot open", name);
    return file;
}

static int starts_with(const char *s, const char *prefix) {
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static int ends_with(const char *s, const char *suffix) {
    const size_t n = strlen(s), k = strlen(suffix);
    return n >= k && strcmp(s + n - k, suffix) == 0;
}

static size_t indent(const char *s) { return strspn(s, " "); }

static int blank(const char *s) { return s[strspn(s, " \t")] == '\0'; }

static void trim_end(char *s) {
    size_t n = strlen(s);
    while (n > 0 && isspace((unsigned char)s[n - 1])) s[--n] = '\0';
}

static text read_text(const char *name) {
    text t = {name, NULL, 0};
    size_t capacity = 0;
    FILE *file = open_file(name, "r");
    for (char line[MAX_LINE]; fgets(line, sizeof line, file); t.count++) {
        if (!strchr(line, '\n') && !feof(file)) die("line too long in", name);
        trim_end(line);
        if (t.count == capacity) {
            capacity = capacity ? 2 * capacity : 256;
            t.line = (char(*)[MAX_LINE])realloc(t.line, capacity * sizeof *t.line);
            if (!t.line) die("no memory for", name);
        }
        memcpy(t.line[t.count], line, sizeof line);
    }
    fclose(file);
    return t;
}

/* ---- one block: lines [from, to) */

static void block_path(char *path, const output *o, const text *t, size_t from,
                       const char *suffix) {
    const size_t start = strlen(o->dir) + 1;
    snprintf(path, MAX_LINE, "%s/%.*s_%lu%s", o->dir, (int)strcspn(t->name, "."), t->name,
             (unsigned long)from + 1, suffix);
    for (char *slash = path + start; (slash = strchr(slash, '/')) != NULL;) *slash = '_';
}

static int mentions(const text *t, size_t from, size_t to, const char *what) {
    for (size_t i = from; i < to; i++) {
        if (strstr(t->line[i], what)) return 1;
    }
    return 0;
}

static void write_headers(FILE *file, const text *t, size_t from, size_t to) {
    const int second =
        ends_with(t->name, ".h") ? ends_with(t->name, "resnharpg.h") : mentions(t, from, to, "rn_");
    const char *name = second ? "resnharpg.h" : "aggregators.h";
    const char *macro = second ? "RESNHARPG" : "AGGREGATORS";
    fprintf(file, "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n");
    if (mentions(t, from, to, "#include \"resnharpg.h") ||
        mentions(t, from, to, "#include \"aggregators.h"))
        return;
    fprintf(file, "#define %s_IMPLEMENTATION\n#include \"%s\"\n", macro, name);
}

/* -1: all lines */
static void write_lines(FILE *file, const text *t, size_t from, size_t to, int directives) {
    for (size_t i = from; i < to; i++) {
        const char *line = t->line[i];
        if (directives >= 0 && (line[indent(line)] == '#') != directives) continue;
        fprintf(file, "#line %lu \"%s\"\n%s\n", (unsigned long)i + 1, t->name, line);
    }
}

static void write_block(const output *o, const text *t, size_t from, size_t to) {
    char path[MAX_LINE];
    FILE *file;
    block_path(path, o, t, from, ".c");
    file = open_file(path, "w");
    write_headers(file, t, from, to);
    if (mentions(t, from, to, "main(")) {
        write_lines(file, t, from, to, -1);
    } else {
        write_lines(file, t, from, to, 1);
        fprintf(file, "int main(void) {\n");
        write_lines(file, t, from, to, 0);
        fprintf(file, "return 0;\n}\n");
    }
    fclose(file);
}

static void write_expected(const output *o, const text *t, size_t from, size_t to) {
    const char *mark = "// prints: ";
    FILE *file = NULL;
    for (size_t i = from; i < to; i++) {
        const char *promise = strstr(t->line[i], mark);
        if (!promise) continue;
        if (!file) {
            char path[MAX_LINE];
            block_path(path, o, t, from, ".expected");
            file = open_file(path, "w");
        }
        fprintf(file, "%s\n", promise + strlen(mark));
    }
    if (file) fclose(file);
}

static void take_block(const output *o, const text *t, size_t from, size_t to) {
    write_block(o, t, from, to);
    write_expected(o, t, from, to);
}

/* ---- headers */

static int is_marker(const char *line) {
    static const char *const words[] = {"QUICK START", "EXAMPLE"};
    const char *s = line + indent(line);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (starts_with(s, words[i]) && !isalnum((unsigned char)s[strlen(words[i])])) return 1;
    }
    return 0;
}

/* number of blocks */
static size_t take_header(const output *o, const text *t) {
    size_t blocks = 0;
    for (size_t i = 0; i < t->count; i++) {
        const size_t from = i + 1;
        size_t to = from; /* one past the last line of code */
        if (!is_marker(t->line[i])) continue;
        for (size_t j = from; j < t->count && !strstr(t->line[j], "*/"); j++) {
            if (blank(t->line[j])) continue;
            if (indent(t->line[j]) <= indent(t->line[i])) break;
            to = j + 1;
        }
        if (to == from) die("no code under a QUICK START or EXAMPLE line of", t->name);
        take_block(o, t, from, to);
        blocks++;
        i = to - 1;
    }
    return blocks;
}

/* ---- Markdown */

/* `VARIABLE=value make target ...`: every word after make that is no option */
static void take_targets(const output *o, const text *t, size_t i, const char *command, size_t n) {
    char line[MAX_LINE];
    char *word;
    snprintf(line, sizeof line, "%.*s", (int)n, command);
    word = strtok(line, " $");
    while (word && strchr(word, '=')) word = strtok(NULL, " ");
    if (!word || strcmp(word, "make") != 0) return;
    while ((word = strtok(NULL, " ")) != NULL && !strpbrk(word, "#&|;")) {
        if (word[0] == '-' || strchr(word, '=')) continue;
        fprintf(o->targets, "%s:%lu %s\n", t->name, (unsigned long)i + 1, word);
    }
}

/* what stands between two backticks of a line */
static void take_inline_targets(const output *o, const text *t, size_t i) {
    const char *open = strchr(t->line[i], '`');
    while (open) {
        const char *close = strchr(open + 1, '`');
        if (!close) return;
        take_targets(o, t, i, open + 1, (size_t)(close - open - 1));
        open = strchr(close + 1, '`');
    }
}

/* [text](path) */
static void take_links(const output *o, const text *t, size_t i) {
    const char *slash = strrchr(t->name, '/');
    const int folder = slash ? (int)(slash - t->name) + 1 : 0;
    for (const char *s = t->line[i]; (s = strstr(s, "](")) != NULL;) {
        s += 2;
        if (starts_with(s, "http") || *s == '#') continue;
        fprintf(o->links, "%s:%lu %.*s%.*s\n", t->name, (unsigned long)i + 1, folder, t->name,
                (int)strcspn(s, ")#"), s);
    }
}

/* number of blocks of C and of commands */
static size_t take_markdown(const output *o, const text *t) {
    size_t blocks = 0;
    for (size_t i = 0; i < t->count; i++) {
        const int fence = starts_with(t->line[i], "```");
        const int is_c = fence && strcmp(t->line[i] + 3, "c") == 0;
        const int is_sh = fence && strcmp(t->line[i] + 3, "sh") == 0;
        const size_t from = i + 1;
        if (fence && !is_c && !is_sh) die("a block that is neither ```c nor ```sh in", t->name);
        if (!fence) {
            take_links(o, t, i);
            take_inline_targets(o, t, i);
            continue;
        }
        for (i = from; i < t->count && !starts_with(t->line[i], "```"); i++) {
            if (is_sh) take_targets(o, t, i, t->line[i], strlen(t->line[i]));
        }
        if (i == t->count) die("a fence is not closed in", t->name);
        if (is_c) take_block(o, t, from, i);
        blocks++;
    }
    return blocks;
}

int main(int argc, char **argv) {
    output o = {NULL, NULL, NULL};
    char path[MAX_LINE];
    if (argc < 3) die("usage: extract_docs OUT_DIR", "file...");
    o.dir = argv[1];
    snprintf(path, sizeof path, "%s/targets", o.dir);
    o.targets = open_file(path, "w");
    snprintf(path, sizeof path, "%s/links", o.dir);
    o.links = open_file(path, "w");
    for (int i = 2; i < argc; i++) {
        const text t = read_text(argv[i]);
        const size_t blocks =
            ends_with(argv[i], ".md") ? take_markdown(&o, &t) : take_header(&o, &t);
        if (blocks == 0) die("no example in", argv[i]);
        free(t.line);
    }
    fclose(o.targets);
    fclose(o.links);
    return EXIT_SUCCESS;
}
