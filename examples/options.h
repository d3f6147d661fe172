/* options.h - a command line for the examples: a table, one row an option.

       enum { SEED, LOUD, OUTPUT, OPTIONS };
       option o[OPTIONS] = {
           {"--seed", "of the first run (1)", NULL, 1, 0, 99}, // a number: 1, or 0 .. 99 as given
           {"--loud", "say more", NULL, 0, OPTION_FLAG, 0},    // no value: number is 1 if given
           {"file.svg", "what to write", "build/file.svg", 0, 0, 0}}; // a text
       options_read(argc, argv, o, OPTIONS, "usage: program [options] [file.svg]\n");

   The last row stands alone, without a key; if its name is empty, no such word is taken. --help
   prints usage and table and ends the program, and so does, with status 2, whatever cannot be
   understood. */
#ifndef OPTIONS_H
#define OPTIONS_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct option {
    const char *key, *help;
    const char *text;           /* as given, or what holds if it is not */
    size_t number, least, most; /* most 0: a text, or a flag */
} option;

enum { OPTION_FLAG = 1 }; /* as `least` */

static void options_refuse(const char *what, const char *why) {
    fprintf(stderr, "%s: %s; --help lists the options\n", what, why);
    exit(2);
}

static void options_help(const option *o, int count, const char *usage) {
    printf("%s", usage);
    for (int k = 0; k < count; k++)
        if (o[k].key[0]) printf("  %-10s %s\n", o[k].key, o[k].help);
    exit(0);
}

static void options_set(option *o, const char *text) {
    char *end = NULL;
    o->text = text;
    if (o->most == 0) return;
    o->number = strtoul(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && !*end && o->number >= o->least && o->number <= o->most)
        return;
    fprintf(stderr, "%s is \"%s\": a whole number of %lu .. %lu is wanted\n", o->key, text,
            (unsigned long)o->least, (unsigned long)o->most);
    exit(2);
}

static void options_read(int argc, char **argv, option *o, int count, const char *usage) {
    for (int i = 1; i < argc; i++) {
        int k = 0;
        if (strcmp(argv[i], "--help") == 0) options_help(o, count, usage);
        while (k < count - 1 && strcmp(argv[i], o[k].key) != 0) k++;
        if (k == count - 1 && (argv[i][0] == '-' || !o[k].key[0]))
            options_refuse(argv[i], "no such option");
        if (o[k].most == 0 && o[k].least == OPTION_FLAG) {
            o[k].number = 1;
            continue;
        }
        if (k < count - 1 && ++i == argc) options_refuse(o[k].key, "its value is missing");
        options_set(&o[k], argv[i]);
    }
}
#endif /* OPTIONS_H */
