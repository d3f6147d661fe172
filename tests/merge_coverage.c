/* merge_coverage - line and branch coverage of headers over all programs that include them.

   usage: merge_coverage FILE header...

   FILE is the text of `gcov -b -c -t`, of any number of programs one after the other. A header is compiled into each of
   them, as float and as double: a line or a branch counts as covered if one of them took it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINES    20000
#define MAX_BRANCHES 64 /* of one line; further ones are not looked at */

typedef struct line_info {
    int           code, run;                /* has code in some program; ran in some program */
    size_t        branches;
    unsigned char taken[MAX_BRANCHES];
    char          source[160];
} line_info;

static line_info lines[MAX_LINES];

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "   count:  number:source"; count is - (no code), ##### or ===== (never run) or digits, perhaps with a star */
static line_info *take_line(const char *text) {
    const char   *number = strchr(text, ':'), *source = number ? strchr(number + 1, ':') : NULL;
    const char   *count  = text + strspn(text, " ");
    unsigned long n      = number ? strtoul(number + 1, NULL, 10) : 0;
    line_info    *line   = &lines[n];
    if (!source || n == 0 || n >= MAX_LINES) return NULL;
    if (*count == '-') return line;
    line->code = 1;
    if (*count != '#' && *count != '=') line->run = 1;
    snprintf(line->source, sizeof line->source, "%.150s", source + 1);
    line->source[strcspn(line->source, "\n")] = '\0';
    return line;
}

static void take_branch(line_info *line, const char *text) { /* "branch  1 taken 5", or "branch  1 never executed" */
    unsigned      index;
    unsigned long count = 0;
    if (sscanf(text, "branch %u taken %lu", &index, &count) < 1 || index >= MAX_BRANCHES) return;
    if (line->branches <= index) line->branches = index + 1;
    if (count > 0) line->taken[index] = 1;
}

static void read_gcov(const char *path, const char *header) {
    char       text[4096];
    int        inside  = 0;
    line_info *current = NULL;
    FILE      *file    = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "merge_coverage: cannot open %s\n", path);
        exit(EXIT_FAILURE);
    }
    while (fgets(text, sizeof text, file)) {
        char *source = strstr(text, "0:Source:");
        if (source) {
            source[strcspn(source, "\n")] = '\0';
            inside  = strcmp(base_name(source + strlen("0:Source:")), header) == 0;
            current = NULL;
        } else if (inside && strncmp(text, "branch", 6) == 0) {
            if (current) take_branch(current, text);
        } else if (inside && strncmp(text, "call", 4) != 0 && strncmp(text, "function", 8) != 0) {
            current = take_line(text);
        }
    }
    fclose(file);
}

static size_t branches_taken(const line_info *line) {
    size_t taken = 0;
    for (size_t i = 0; i < line->branches; i++) taken += line->taken[i];
    return taken;
}

static void print_share(const char *what, size_t part, size_t whole) {
    printf("    %-8s %5.1f %%  (%lu of %lu)\n", what, whole ? 100.0 * (double)part / (double)whole : 0.0,
           (unsigned long)part, (unsigned long)whole);
}

static void report(const char *header) {
    size_t code = 0, run = 0, branches = 0, taken = 0;
    for (size_t i = 0; i < MAX_LINES; i++) {
        code += lines[i].code != 0;
        run  += lines[i].run != 0;
        branches += lines[i].branches;
        taken    += branches_taken(&lines[i]);
    }
    printf("\n%s\n", header);
    print_share("lines", run, code);
    print_share("branches", taken, branches);
    for (size_t i = 0; i < MAX_LINES; i++) {
        if (lines[i].code && !lines[i].run) {
            printf("    never run    %5lu: %s\n", (unsigned long)i, lines[i].source);
        } else if (branches_taken(&lines[i]) < lines[i].branches) {
            printf("    %2lu of %2lu taken %4lu: %s\n", (unsigned long)branches_taken(&lines[i]),
                   (unsigned long)lines[i].branches, (unsigned long)i, lines[i].source);
        }
    }
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: merge_coverage FILE header...\n");
        return EXIT_FAILURE;
    }
    for (int i = 2; i < argc; i++) {
        memset(lines, 0, sizeof lines);
        read_gcov(argv[1], base_name(argv[i]));
        report(argv[i]);
    }
    return EXIT_SUCCESS;
}
