/* merge_coverage - line and branch coverage of headers over all programs that include them.

   usage: merge_coverage FILE REASONS header...

   FILE is the text of `gcov -b -c -t`, of any number of programs one after the other. A header is
   compiled into each of them, as float and as double: a line or a branch counts as covered if one
   of them took it. REASONS explains what is not: lines "piece of the source line => reason"; what
   has no reason is listed last and makes the program fail. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINES    20000
#define MAX_BRANCHES 64 /* of one line; further ones are not looked at */

typedef struct line_info {
    int code, run; /* has code in some program; ran in some program */
    /* there is one of that number: gcov numbers calls along with them */
    unsigned char branch[MAX_BRANCHES];
    unsigned char taken[MAX_BRANCHES];
    char source[160];
} line_info;

static line_info lines[MAX_LINES];

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "   count:  number:source"; count is - (no code), ##### or ===== (never run) or digits, perhaps
   with a star */
static line_info *take_line(const char *text) {
    const char *number = strchr(text, ':'), *source = number ? strchr(number + 1, ':') : NULL;
    const char *count = text + strspn(text, " ");
    unsigned long n = number ? strtoul(number + 1, NULL, 10) : 0;
    line_info *line = &lines[n];
    if (!source || n == 0 || n >= MAX_LINES) return NULL;
    if (*count == '-') return line;
    line->code = 1;
    if (*count != '#' && *count != '=') line->run = 1;
    snprintf(line->source, sizeof line->source, "%.150s", source + 1);
    line->source[strcspn(line->source, "\n")] = '\0';
    return line;
}

/* "branch  1 taken 5", or "branch  1 never executed" */
static void take_branch(line_info *line, const char *text) {
    unsigned index;
    unsigned long count = 0;
    if (sscanf(text, "branch %u taken %lu", &index, &count) < 1 || index >= MAX_BRANCHES) return;
    line->branch[index] = 1;
    if (count > 0) line->taken[index] = 1;
}

static void read_gcov(const char *path, const char *header) {
    char text[4096];
    int inside = 0;
    line_info *current = NULL;
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "merge_coverage: cannot open %s\n", path);
        exit(EXIT_FAILURE);
    }
    while (fgets(text, sizeof text, file)) {
        char *source = strstr(text, "0:Source:");
        if (source) {
            source[strcspn(source, "\n")] = '\0';
            inside = strcmp(base_name(source + strlen("0:Source:")), header) == 0;
            current = NULL;
        } else if (inside && strncmp(text, "branch", 6) == 0) {
            if (current) take_branch(current, text);
        } else if (inside && strncmp(text, "call", 4) != 0 && strncmp(text, "function", 8) != 0) {
            current = take_line(text);
        }
    }
    fclose(file);
}

static size_t count(const unsigned char *flags) {
    size_t sum = 0;
    for (size_t i = 0; i < MAX_BRANCHES; i++) sum += flags[i];
    return sum;
}

#define MAX_REASONS 400

static struct reason { char piece[160], why[200]; } reasons[MAX_REASONS];

static size_t reason_count;

static void read_reasons(const char *path) {
    char text[512];
    FILE *file = fopen(path, "r");
    while (file && fgets(text, sizeof text, file) && reason_count < MAX_REASONS) {
        char *arrow = strstr(text, " => ");
        if (*text == '#' || !arrow) continue;
        *arrow = '\0';
        arrow[4 + strcspn(arrow + 4, "\n")] = '\0';
        snprintf(reasons[reason_count].piece, sizeof reasons->piece, "%.150s", text);
        snprintf(reasons[reason_count++].why, sizeof reasons->why, "%.190s", arrow + 4);
    }
    if (file) fclose(file);
}

static const char *reason_for(const char *source) {
    for (size_t i = 0; i < reason_count; i++)
        if (strstr(source, reasons[i].piece)) return reasons[i].why;
    return NULL;
}

static void print_share(const char *what, size_t part, size_t whole) {
    printf("    %-8s %5.1f %%  (%lu of %lu)\n", what,
           whole ? 100.0 * (double)part / (double)whole : 0.0, (unsigned long)part,
           (unsigned long)whole);
}

static void print_line(size_t i, const char *why) {
    const line_info *line = &lines[i];
    if (!line->run)
        printf("    never run   ");
    else
        printf("    %2lu of %2lu taken", (unsigned long)count(line->taken),
               (unsigned long)count(line->branch));
    printf(" %4lu: %s\n", (unsigned long)i, line->source + strspn(line->source, " "));
    if (why) printf("                         because %s\n", why);
}

typedef struct tally {
    size_t code, run, branches, taken, open;
} tally; /* open: not covered and not explained */

static void report(const char *header, tally *all) {
    size_t code = 0, run = 0, branches = 0, taken = 0, open = 0;
    for (size_t i = 0; i < MAX_LINES; i++) {
        code += lines[i].code != 0;
        run += lines[i].run != 0;
        branches += count(lines[i].branch);
        taken += count(lines[i].taken);
    }
    printf("\n%s\n", header);
    print_share("lines", run, code);
    print_share("branches", taken, branches);
    for (int explained = 1; explained >= 0; explained--) {
        for (size_t i = 0; i < MAX_LINES; i++) {
            const char *why = reason_for(lines[i].source);
            if (!lines[i].code || (lines[i].run && count(lines[i].taken) == count(lines[i].branch)))
                continue;
            if (explained != (why != NULL)) continue;
            if (!why && !open++) printf("  without a reason:\n");
            print_line(i, why);
        }
    }
    all->code += code;
    all->run += run;
    all->branches += branches;
    all->taken += taken;
    all->open += open;
}

int main(int argc, char **argv) {
    tally all = {0, 0, 0, 0, 0};
    if (argc < 4) {
        fprintf(stderr, "usage: merge_coverage FILE REASONS header...\n");
        return EXIT_FAILURE;
    }
    read_reasons(argv[2]);
    for (int i = 3; i < argc; i++) {
        memset(lines, 0, sizeof lines);
        read_gcov(argv[1], base_name(argv[i]));
        report(argv[i], &all);
    }
    printf("\nlines %lu of %lu, branches %lu of %lu; %lu lines without a test or a reason in %s\n",
           (unsigned long)all.run, (unsigned long)all.code, (unsigned long)all.taken,
           (unsigned long)all.branches, (unsigned long)all.open, argv[2]);
    return all.open ? EXIT_FAILURE : EXIT_SUCCESS;
}
