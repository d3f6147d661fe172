/* greatest.h - the subset of the greatest 1.5 test API that tests/ uses, written for this project.
   SPDX-License-Identifier: MIT OR Unlicense

   TEST adds_up(void) { ASSERT_EQ(4, 2 + 2); PASS(); }
   SUITE(sums) { RUN_TEST(adds_up); }
   GREATEST_MAIN_DEFS();
   int main(int argc, char **argv) { GREATEST_MAIN_BEGIN(); RUN_SUITE(sums); GREATEST_MAIN_END(); }

   Options of such a program: -v verbose, -l list, -f stop at the first failure, -s NAME and -t NAME
   run only the suites and tests with NAME in their name, -x NAME leave out those tests, -e makes
   these exact, -h help.
   Its last line is "Pass: N, fail: M, skip: K.", as with the original, and tests/run.sh reads it.

   `make test GREATEST=dir` compiles the same tests with the original, dir/greatest.h, instead. */
#ifndef TESTS_GREATEST_H
#define TESTS_GREATEST_H
#ifdef GREATEST_EXTERNAL
#include <greatest.h>
#else
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define GREATEST_UNUSED __attribute__((unused))
#else
#define GREATEST_UNUSED
#endif
#define GREATEST_STDOUT      stdout

typedef enum greatest_test_res {
    GREATEST_TEST_RES_PASS = 0,
    GREATEST_TEST_RES_FAIL = -1,
    GREATEST_TEST_RES_SKIP = 1
} greatest_test_res;

typedef void greatest_setup_cb(void *udata);
typedef void greatest_teardown_cb(void *udata);
typedef const char *greatest_enum_str_fun(int value);
typedef void greatest_suite_cb(void);

typedef struct greatest_counts {
    unsigned passed, failed, skipped;
} greatest_counts;

typedef struct greatest_run_info {
    /* total grows when a suite ends; tests outside suites count at the report */
    greatest_counts suite, total;
    unsigned long assertions;
    const char *msg, *file; /* of the last PASSm, FAILm, SKIPm */
    unsigned line;
    const char *only_suite, *only_test, *not_test;
    int exact, verbose, list, first_fail;
    int column; /* dots on the current line */
    char name[256], suffix[64];
    greatest_setup_cb *setup;
    greatest_teardown_cb *teardown;
    void *setup_udata, *teardown_udata;
} greatest_run_info;

extern greatest_run_info greatest_info;
#define GREATEST_MAIN_DEFS() greatest_run_info greatest_info

#define GREATEST_IS_VERBOSE() (greatest_info.verbose > 0)
#define GREATEST_FIRST_FAIL() (greatest_info.first_fail)

/* ---- running */

GREATEST_UNUSED static int greatest_matches(const char *name, const char *filter) {
    return greatest_info.exact ? strcmp(name, filter) == 0 : strstr(name, filter) != NULL;
}

GREATEST_UNUSED static int greatest_stopped(void) {
    return greatest_info.first_fail && (greatest_info.suite.failed || greatest_info.total.failed);
}

/* for the next test only */
GREATEST_UNUSED static void greatest_set_test_suffix(const char *suffix) {
    snprintf(greatest_info.suffix, sizeof greatest_info.suffix, "_%s", suffix);
}

GREATEST_UNUSED static int greatest_test_begin(const char *name) { /* 1: run it */
    greatest_run_info *g = &greatest_info;
    snprintf(g->name, sizeof g->name, "%.120s%s", name, g->suffix);
    g->suffix[0] = '\0';
    if (greatest_stopped()) return 0;
    if (g->only_test && !greatest_matches(g->name, g->only_test)) return 0;
    if (g->not_test && greatest_matches(g->name, g->not_test)) return 0;
    if (g->list) {
        printf("  %s\n", g->name);
        return 0;
    }
    g->msg = NULL;
    if (g->setup) g->setup(g->setup_udata);
    return 1;
}

GREATEST_UNUSED static void greatest_dot(char c) {
    putchar(c);
    if (++greatest_info.column % 79 == 0) putchar('\n');
}

GREATEST_UNUSED static void greatest_test_end(int res) {
    greatest_run_info *g = &greatest_info;
    const char *msg = g->msg ? g->msg : "";
    if (res == GREATEST_TEST_RES_FAIL) {
        g->suite.failed++;
        printf("%sFAIL %s: %s (%s:%u)\n", g->column % 79 ? "\n" : "", g->name, msg, g->file,
               g->line);
        g->column = 0;
    } else if (res == GREATEST_TEST_RES_SKIP) {
        g->suite.skipped++;
        if (g->verbose)
            printf("SKIP %s: %s\n", g->name, msg);
        else
            greatest_dot('s');
    } else {
        g->suite.passed++;
        if (g->verbose)
            printf("PASS %s%s%s\n", g->name, g->msg ? ": " : "", msg);
        else
            greatest_dot('.');
    }
    if (g->teardown) g->teardown(g->teardown_udata);
    fflush(stdout);
}

GREATEST_UNUSED static void greatest_add_suite(void) {
    greatest_run_info *g = &greatest_info;
    g->setup = NULL; /* callbacks are set inside a suite and end with it */
    g->teardown = NULL;
    g->total.passed += g->suite.passed;
    g->total.failed += g->suite.failed;
    g->total.skipped += g->suite.skipped;
    memset(&g->suite, 0, sizeof g->suite);
}

GREATEST_UNUSED static void greatest_run_suite(greatest_suite_cb *run, const char *name) {
    greatest_run_info *g = &greatest_info;
    if (g->only_suite && !greatest_matches(name, g->only_suite)) return;
    if (greatest_stopped()) return;
    greatest_add_suite();
    printf("\n* Suite %s:\n", name);
    g->column = 0;
    run();
    {
        const greatest_counts c = g->suite;
        const unsigned n = c.passed + c.failed + c.skipped;
        if (n) {
            printf("\n%u test%s - %u passed, %u failed, %u skipped\n", n, n == 1 ? "" : "s",
                   c.passed, c.failed, c.skipped);
        }
    }
    greatest_add_suite();
}

GREATEST_UNUSED static void GREATEST_SET_SETUP_CB(greatest_setup_cb *cb, void *udata) {
    greatest_info.setup = cb;
    greatest_info.setup_udata = udata;
}

GREATEST_UNUSED static void GREATEST_SET_TEARDOWN_CB(greatest_teardown_cb *cb, void *udata) {
    greatest_info.teardown = cb;
    greatest_info.teardown_udata = udata;
}

GREATEST_UNUSED static int greatest_all_passed(void) {
    return greatest_info.total.failed + greatest_info.suite.failed == 0;
}

GREATEST_UNUSED static void greatest_print_report(void) {
    greatest_run_info *g = &greatest_info;
    if (g->list) return;
    greatest_add_suite();
    printf("\nTotal: %u tests, %lu assertions\n",
           g->total.passed + g->total.failed + g->total.skipped, g->assertions);
    printf("Pass: %u, fail: %u, skip: %u.\n", g->total.passed, g->total.failed, g->total.skipped);
    fflush(stdout);
}

GREATEST_UNUSED static void greatest_parse_options(int argc, char **argv) {
    greatest_run_info *g = &greatest_info;
    for (int i = 1; i < argc; i++) {
        const char c = argv[i][0] == '-' && argv[i][1] && !argv[i][2] ? argv[i][1] : '?';
        const char *name = i + 1 < argc ? argv[i + 1] : NULL;
        if (strchr("stx", c) && !name) {
            fprintf(stderr, "%s: option -%c needs a name\n", argv[0], c);
            exit(EXIT_FAILURE);
        }
        switch (c) {
        case 'v': g->verbose++; break;
        case 'e': g->exact = 1; break;
        case 'l': g->list = 1; break;
        case 'f': g->first_fail = 1; break;
        case 's':
            g->only_suite = name;
            i++;
            break;
        case 't':
            g->only_test = name;
            i++;
            break;
        case 'x':
            g->not_test = name;
            i++;
            break;
        case 'h':
            printf("usage: %s [-hlfve] [-s SUITE] [-t TEST] [-x EXCLUDE]\n"
                   "  -l list, -f stop at the first failure, -v verbose, -e exact names\n",
                   argv[0]);
            exit(EXIT_SUCCESS);
        default:
            fprintf(stderr, "%s: unknown option '%s', -h for help\n", argv[0], argv[i]);
            exit(EXIT_FAILURE);
        }
    }
}

#define TEST static greatest_test_res
#define SUITE(NAME)                                                                                \
    void NAME(void);                                                                               \
    void NAME(void)
#define SUITE_EXTERN(NAME) void NAME(void)
#define RUN_SUITE(NAME)    greatest_run_suite(NAME, #NAME)
#define SET_SETUP          GREATEST_SET_SETUP_CB
#define SET_TEARDOWN       GREATEST_SET_TEARDOWN_CB

#define RUN_TEST(T)                                                                                \
    do {                                                                                           \
        if (greatest_test_begin(#T)) greatest_test_end(T());                                       \
    } while (0)
#define RUN_TEST1(T, ENV)                                                                          \
    do {                                                                                           \
        if (greatest_test_begin(#T)) greatest_test_end(T(ENV));                                    \
    } while (0)
#define RUN_TESTp(T, ...)                                                                          \
    do {                                                                                           \
        if (greatest_test_begin(#T)) greatest_test_end(T(__VA_ARGS__));                            \
    } while (0)

#define GREATEST_MAIN_BEGIN()   greatest_parse_options(argc, argv)
#define GREATEST_PRINT_REPORT() greatest_print_report()
/* clang-format off */

#define GREATEST_MAIN_END()                                          \
    do {                                                             \
        greatest_print_report();                                     \
        return greatest_all_passed() ? EXIT_SUCCESS : EXIT_FAILURE;  \
    } while (0)

/* clang-format on */

/* ---- verdicts */

GREATEST_UNUSED static greatest_test_res greatest_verdict(greatest_test_res res, const char *msg,
                                                          const char *file, unsigned line) {
    greatest_info.msg = msg;
    greatest_info.file = file;
    greatest_info.line = line;
    return res;
}

#define GREATEST_RETURN(RES, MSG) return greatest_verdict(RES, MSG, __FILE__, (unsigned)__LINE__)
#define PASSm(MSG)                GREATEST_RETURN(GREATEST_TEST_RES_PASS, MSG)
#define FAILm(MSG)                GREATEST_RETURN(GREATEST_TEST_RES_FAIL, MSG)
#define SKIPm(MSG)                GREATEST_RETURN(GREATEST_TEST_RES_SKIP, MSG)
#define PASS()                    PASSm(NULL)
#define FAIL()                    FAILm("FAIL")
#define SKIP()                    SKIPm(NULL)

/* clang-format off */

#define CHECK_CALL(CALL)                                              \
    do {                                                              \
        const greatest_test_res greatest_res = (CALL);                \
        if (greatest_res != GREATEST_TEST_RES_PASS) return greatest_res; \
    } while (0)
/* clang-format on */

/* ---- assertions: OK is evaluated once; SHOW, a statement, prints the two values when it is
   false */

/* clang-format off */

#define GREATEST_CHECK(MSG, OK, SHOW)   \
    do {                                \
        greatest_info.assertions++;     \
        if (!(OK)) {                    \
            SHOW;                       \
            FAILm(MSG);                 \
        }                               \
    } while (0)

/* clang-format on */

GREATEST_UNUSED static int greatest_in_range(double exp, double got, double tol) {
    if (exp == got || (exp - got <= tol && got - exp <= tol)) return 1; /* NaN is in no range */
    printf("\nExpected: %.17g +/- %g\n     Got: %.17g\n", exp, tol, got);
    return 0;
}

GREATEST_UNUSED static int greatest_str_eq(const char *exp, const char *got, size_t limit) {
    const int whole = limit == (size_t)-1; /* gcc warns of strncmp with such a limit */
    const int same =
        exp && got ? !(whole ? strcmp(exp, got) : strncmp(exp, got, limit)) : exp == got;
    if (same) return 1;
    printf("\nExpected: \"%s\"\n     Got: \"%s\"\n", exp ? exp : "(null)", got ? got : "(null)");
    return 0;
}

typedef struct greatest_memory_cmp_env {
    const unsigned char *exp, *got;
    size_t size;
} greatest_memory_cmp_env;

GREATEST_UNUSED static int greatest_mem_eq(const greatest_memory_cmp_env *m) {
    for (size_t i = 0; i < m->size; i++) {
        if (m->exp[i] == m->got[i]) continue;
        printf("\nbyte %lu of %lu: expected 0x%02x, got 0x%02x\n", (unsigned long)i,
               (unsigned long)m->size, (unsigned)m->exp[i], (unsigned)m->got[i]);
        return 0;
    }
    return 1;
}

GREATEST_UNUSED static int greatest_enum_eq(int exp, int got, greatest_enum_str_fun *text) {
    if (exp == got) return 1;
    printf("\nExpected: %s\n     Got: %s\n", text(exp), text(got));
    return 0;
}

#define ASSERTm(MSG, COND)         GREATEST_CHECK(MSG, COND, (void)0)
#define ASSERT_FALSEm(MSG, COND)   GREATEST_CHECK(MSG, !(COND), (void)0)
#define ASSERT_EQm(MSG, EXP, GOT)  GREATEST_CHECK(MSG, (EXP) == (GOT), (void)0)
#define ASSERT_NEQm(MSG, EXP, GOT) GREATEST_CHECK(MSG, (EXP) != (GOT), (void)0)
#define ASSERT_GTm(MSG, EXP, GOT)  GREATEST_CHECK(MSG, (EXP) > (GOT), (void)0)
#define ASSERT_GTEm(MSG, EXP, GOT) GREATEST_CHECK(MSG, (EXP) >= (GOT), (void)0)
#define ASSERT_LTm(MSG, EXP, GOT)  GREATEST_CHECK(MSG, (EXP) < (GOT), (void)0)
#define ASSERT_LTEm(MSG, EXP, GOT) GREATEST_CHECK(MSG, (EXP) <= (GOT), (void)0)
#define ASSERT_EQ_FMTm(MSG, EXP, GOT, FMT)                                                         \
    GREATEST_CHECK(MSG, (EXP) == (GOT),                                                            \
                   printf("\nExpected: " FMT "\n     Got: " FMT "\n", EXP, GOT))
#define ASSERT_IN_RANGEm(MSG, EXP, GOT, TOL)                                                       \
    GREATEST_CHECK(MSG, greatest_in_range((double)(EXP), (double)(GOT), (double)(TOL)), (void)0)
/* As in the original the next three have variables of these names, and the last casts EXP and GOT
   without parentheses: what does not compile there, or compares less, shall not pass here. */
#define ASSERT_STR_EQm(MSG, EXP, GOT)                                                              \
    do {                                                                                           \
        const size_t type_info = (size_t)-1;                                                       \
        GREATEST_CHECK(MSG, greatest_str_eq(EXP, GOT, type_info), (void)0);                        \
    } while (0)
#define ASSERT_STRN_EQm(MSG, EXP, GOT, SIZE)                                                       \
    do {                                                                                           \
        size_t size = SIZE;                                                                        \
        const size_t type_info = size;                                                             \
        GREATEST_CHECK(MSG, greatest_str_eq(EXP, GOT, type_info), (void)0);                        \
    } while (0)
#define ASSERT_MEM_EQm(MSG, EXP, GOT, SIZE)                                                        \
    do {                                                                                           \
        greatest_memory_cmp_env env;                                                               \
        env.exp = (const unsigned char *)EXP;                                                      \
        env.got = (const unsigned char *)GOT;                                                      \
        env.size = SIZE;                                                                           \
        GREATEST_CHECK(MSG, greatest_mem_eq(&env), (void)0);                                       \
    } while (0)
#define ASSERT_ENUM_EQm(MSG, EXP, GOT, TEXT)                                                       \
    GREATEST_CHECK(MSG, greatest_enum_eq((int)(EXP), (int)(GOT), TEXT), (void)0)

#define ASSERT(COND)                 ASSERTm(#COND, COND)
#define ASSERT_FALSE(COND)           ASSERT_FALSEm("not " #COND, COND)
#define ASSERT_EQ(EXP, GOT)          ASSERT_EQm(#EXP " == " #GOT, EXP, GOT)
#define ASSERT_NEQ(EXP, GOT)         ASSERT_NEQm(#EXP " != " #GOT, EXP, GOT)
#define ASSERT_GT(EXP, GOT)          ASSERT_GTm(#EXP " > " #GOT, EXP, GOT)
#define ASSERT_GTE(EXP, GOT)         ASSERT_GTEm(#EXP " >= " #GOT, EXP, GOT)
#define ASSERT_LT(EXP, GOT)          ASSERT_LTm(#EXP " < " #GOT, EXP, GOT)
#define ASSERT_LTE(EXP, GOT)         ASSERT_LTEm(#EXP " <= " #GOT, EXP, GOT)
#define ASSERT_EQ_FMT(EXP, GOT, FMT) ASSERT_EQ_FMTm(#EXP " == " #GOT, EXP, GOT, FMT)
#define ASSERT_IN_RANGE(EXP, GOT, TOL)                                                             \
    ASSERT_IN_RANGEm(#EXP " == " #GOT " +/- " #TOL, EXP, GOT, TOL)
#define ASSERT_STR_EQ(EXP, GOT)        ASSERT_STR_EQm(#EXP " equals " #GOT, EXP, GOT)
#define ASSERT_STRN_EQ(EXP, GOT, SIZE) ASSERT_STRN_EQm(#EXP " equals " #GOT, EXP, GOT, SIZE)
#define ASSERT_MEM_EQ(EXP, GOT, SIZE)  ASSERT_MEM_EQm(#EXP " equals " #GOT, EXP, GOT, SIZE)
#define ASSERT_ENUM_EQ(EXP, GOT, TEXT) ASSERT_ENUM_EQm(#EXP " == " #GOT, EXP, GOT, TEXT)
#endif /* GREATEST_EXTERNAL */
#endif /* TESTS_GREATEST_H */
