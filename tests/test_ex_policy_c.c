/* examples/policy_c.h: policies of every kind are written as C, compiled by the C compiler at hand
   as C99 and C++11, with every warning an error, and play what rn_policy_act() plays, bit for bit. */
#include "implementation.h"
#include "resnharpg.h"
#include "examples/policy_c.h"
#include "greatest.h"
#include <math.h>
#include <stdlib.h>

enum { WIDE = 8, MOST = 4096, CALLS = 3000, PATH = 512 };

/* a policy: a net, or a table with so many states */
typedef struct kind {
    const char *name;
    rn_net_desc net;
    size_t states;
    double scale; /* of theta: its numbers are N(0, scale^2) */
} kind;

static const kind kinds[] = {
    {"tanh_net", {.obs_dim = 4, .outputs = 3, .hidden = {5, 6}}, 0, 1},
    {"wide_net", {.obs_dim = 3, .outputs = 5, .hidden = {70, 9, 23, 17}}, 0, 0.5},
    {"relu_net",
     {.obs_dim = 5, .outputs = 2, .hidden = {7}, .activation = RN_RELU, .tanh_head = 1},
     0,
     1},
    {"identity_net", {.obs_dim = 2, .outputs = 4, .hidden = {3}, .activation = RN_IDENTITY}, 0, 1},
    {"linear_net", {.obs_dim = 8, .outputs = 2}, 0, 1},
    {"one_action", {.obs_dim = 1, .outputs = 1, .no_bias = 1}, 0, 1},
    {"gauss_net", {.obs_dim = 3, .outputs = 2, .hidden = {6}, .gaussian = 1}, 0, 1},
    {"clipped_gauss",
     {.obs_dim = 3,
      .outputs = 3,
      .gaussian = 1,
      .tanh_head = 1,
      .clip = 0.7,
      .log_std_min = -0.5,
      .log_std_max = 0.5},
     0,
     1},
    {"state_gauss",
     {.obs_dim = 4,
      .outputs = 2,
      .hidden = {5},
      .gaussian = 1,
      .state_std = 1,
      .no_bias = 1,
      .activation = RN_RELU,
      .log_std_min = -1,
      .log_std_max = 1e300},
     0,
     2},
    {"free_gauss",
     {.obs_dim = 2, .outputs = 1, .gaussian = 1, .state_std = 1, .clip = 1e300},
     0,
     9},
    {"digits", {.obs_dim = 8, .outputs = 4, .gaussian = 1}, 0, 0.012}, /* floats that need 9 */
    {"steep_net", {.obs_dim = 4, .outputs = 3, .hidden = {8}}, 0, 60},
    {"table", {.outputs = 4}, 6, 3}};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* one call of $_act, as the program below reads it, and its answer */
typedef struct call {
    rn_real obs[WIDE];
    uint64_t bits[WIDE];
    uint64_t kind, sampled;
} call;

typedef struct answer {
    rn_real act[WIDE];
    uint64_t ok;
} answer;

static const char *program_path; /* files are made beside this program */
static rn_net nets[KINDS];
static rn_table table;
static rn_policy policies[KINDS];
static rn_real theta[KINDS][MOST];
static call calls[KINDS * CALLS];
static answer want[KINDS * CALLS], got[KINDS * CALLS];

static void make_policies(void) {
    rn_random r = rn_make_random(7, 0);
    const agg_rng rng = rn_random_rng(&r);
    for (size_t k = 0; k < KINDS; k++) {
        policies[k] = kinds[k].states
                          ? rn_make_table_policy(&table, kinds[k].states, kinds[k].net.outputs)
                          : rn_make_net_policy(&nets[k], &kinds[k].net);
        if (!policies[k].dim || policies[k].dim > MOST) abort();
        for (size_t i = 0; i < policies[k].dim; i++)
            theta[k][i] = (rn_real)(kinds[k].scale * rn_draw_normal(&rng));
        theta[k][policies[k].dim / 2] = (rn_real)-0.0; /* a literal that is easily lost */
    }
}

/* mostly ordinary; some that must be refused, some that overflow */
static rn_real draw_number(const agg_rng *rng) {
    static const double odd[] = {0, -0.0, 1e-42, 3e38, -3e38, 1e20, (double)INFINITY, (double)NAN};
    const size_t pick = rn_draw_below(rng, 100);
    return pick < sizeof odd / sizeof *odd ? (rn_real)odd[pick] : (rn_real)rn_draw_normal(rng);
}

static rn_real draw_state(const agg_rng *rng) {
    static const double odd[] = {-1, -0.0, 0.5, 6, 1e10, -(double)INFINITY, (double)NAN};
    const size_t pick = rn_draw_below(rng, 30);
    return pick < sizeof odd / sizeof *odd ? (rn_real)odd[pick] : (rn_real)(pick % 6);
}

static void make_calls(void) {
    rn_random r = rn_make_random(8, 0);
    const agg_rng rng = rn_random_rng(&r);
    for (size_t i = 0; i < KINDS * CALLS; i++) {
        call *c = &calls[i];
        c->kind = i % KINDS;
        c->sampled = rn_draw_below(&rng, 3) > 0;
        for (int j = 0; j < WIDE; j++) {
            c->obs[j] = kinds[c->kind].states ? draw_state(&rng) : draw_number(&rng);
            c->bits[j] = rn_random_next(&r);
        }
        if (i % 17 == 0) c->bits[0] = i % 2 ? ~(uint64_t)0 : 0; /* the ends of the range */
    }
}

/* random numbers that were drawn before */
typedef struct tape {
    const uint64_t *bits;
    size_t next;
} tape;

static uint64_t play_tape(void *self) {
    tape *t = (tape *)self;
    return t->bits[t->next++ % WIDE];
}

static void answer_calls(void) {
    static char work[1 << 16];
    for (size_t i = 0; i < KINDS * CALLS; i++) {
        const call *c = &calls[i];
        const rn_policy *p = &policies[c->kind];
        tape t = {c->bits, 0};
        const agg_rng rng = {play_tape, &t};
        if (rn_policy_work_size(p, 0) > sizeof work) abort();
        memset(&want[i], 0, sizeof want[i]);
        want[i].ok = rn_policy_act(p, theta[c->kind], c->obs, c->sampled ? &rng : NULL, want[i].act,
                                   work, sizeof work) == RN_OK;
    }
}

/* all policies in one file, and a main that answers calls */
static int write_program(const char *path) {
    FILE *out = fopen(path, "w");
    int ok = out != NULL;
    for (size_t k = 0; ok && k < KINDS; k++)
        ok = kinds[k].states ? policy_c_write_table(out, &table, theta[k], kinds[k].name)
                             : policy_c_write_net(out, &nets[k], theta[k], kinds[k].name);
    if (!ok) return 0;
    fprintf(out,
            "#include <stdio.h>\n"
            "typedef struct call { %s obs[%d]; uint64_t bits[%d]; uint64_t kind, sampled; } call;\n"
            "typedef struct answer { %s act[%d]; uint64_t ok; } answer;\n"
            "int main(void) {\n"
            "    call c;\n"
            "    answer a;\n"
            "    while (fread(&c, sizeof c, 1, stdin) == 1) {\n"
            "        const uint64_t *bits = c.sampled ? c.bits : NULL;\n"
            "        memset(&a, 0, sizeof a);\n"
            "        switch (c.kind) {\n",
            POLICY_C_REAL, WIDE, WIDE, POLICY_C_REAL, WIDE);
    for (int k = 0; k < KINDS; k++)
        fprintf(out, "        case %d: a.ok = (uint64_t)%s_act(c.obs, bits, a.act); break;\n", k,
                kinds[k].name);
    fprintf(out, "        default: break;\n"
                 "        }\n"
                 "        if (fwrite(&a, sizeof a, 1, stdout) != 1) return 1;\n"
                 "    }\n"
                 "    return 0;\n"
                 "}\n");
    return fclose(out) == 0;
}

static const char *made(const char *suffix) { /* a file beside this program */
    static char path[4][PATH];
    static int next;
    char *to = path[next++ % 4];
    snprintf(to, PATH, "%s.%s", program_path, suffix);
    return to;
}

static int run(const char *format, const char *a, const char *b, const char *c) {
    char command[4 * PATH];
    snprintf(command, sizeof command, format, a, b, c);
    return system(command);
}

static int write_bytes(const char *path, const void *bytes, size_t size) {
    FILE *out = fopen(path, "wb");
    if (!out) return 0;
    const size_t n = fwrite(bytes, 1, size, out);
    return fclose(out) == 0 && n == size;
}

static size_t read_bytes(const char *path, void *bytes, size_t size) {
    FILE *in = fopen(path, "rb");
    if (!in) return 0;
    const size_t n = fread(bytes, 1, size, in);
    fclose(in);
    return n;
}

#define WARNINGS                                                                                   \
    " -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wdouble-promotion "        \
    "-Wcast-qual -Wundef -Werror"

/* with flags that like to change bits */
static const char *const compilers[] = {
    "cc -std=c99 -O0" WARNINGS " -Wstrict-prototypes", "cc -std=gnu99 -O2" WARNINGS,
    "cc -std=gnu99 -O3 -march=native" WARNINGS, "c++ -std=c++11 -x c++ -O1" WARNINGS};

static int is_there(const char *compiler) {
    return write_bytes(made("none.c"), "int main(void) { return 0; }\n", 29) &&
           run("%s '%s' -o '%s' >/dev/null 2>&1", compiler, made("none.c"), made("none")) == 0;
}

static int same_number(rn_real a, rn_real b) {
    return memcmp(&a, &b, sizeof a) == 0 || (!(a == a) && !(b == b)); /* any NaN is a NaN */
}

TEST plays_the_same(const char *compiler) {
    size_t refused = 0, acted = 0;
    if (!is_there(compiler)) SKIPm("there is no such compiler");
    ASSERT(write_program(made("policies.c")));
    ASSERT(write_bytes(made("calls"), calls, sizeof calls));
    ASSERT_EQ(0, run("%s '%s' -o '%s' -lm", compiler, made("policies.c"), made("program")));
    ASSERT_EQ(0, run("'%s' <'%s' >'%s'", made("program"), made("calls"), made("answers")));
    ASSERT_EQ(sizeof got, read_bytes(made("answers"), got, sizeof got));
    for (size_t i = 0; i < KINDS * CALLS; i++) {
        ASSERT_EQm(kinds[calls[i].kind].name, want[i].ok, got[i].ok);
        for (int j = 0; j < WIDE; j++)
            ASSERTm(kinds[calls[i].kind].name, same_number(want[i].act[j], got[i].act[j]));
        if (want[i].ok)
            acted++;
        else
            refused++;
    }
    ASSERT(acted > KINDS * CALLS / 2 && refused > KINDS * CALLS / 100);
    PASS();
}

/* flags that would take NaN for a number, or round in another way; the headers refuse them too */
static const char *const forbidden[] = {
    "cc -ffast-math", "cc -ffinite-math-only", "gcc -funsafe-math-optimizations",
    "gcc -mfpmath=387", "gcc -fassociative-math -fno-signed-zeros -fno-trapping-math"};

TEST is_not_compiled(const char *compiler) {
    static char said[1 << 14];
    if (!is_there(compiler)) SKIPm("there is no such compiler, or it has no such flag");
    ASSERT(write_program(made("policies.c")));
    ASSERT(run("%s -c '%s' -o /dev/null 2>'%s'", compiler, made("policies.c"), made("said")) != 0);
    said[read_bytes(made("said"), said, sizeof said - 1)] = 0;
    ASSERTm(said, strstr(said, "#error"));
    PASS();
}

static int writes(const rn_net *net, const rn_real *from, const char *name) {
    FILE *out = tmpfile();
    const int ok = out && policy_c_write_net(out, net, from, name);
    const int empty = out && ftell(out) == 0;
    if (out) fclose(out);
    return ok ? 1 : empty ? 0 : -1;
}

/* nothing is written of what cannot be meant */
TEST refuses(void) {
    static const char *const bad[] = {"", "9lives", "two words", "a-b", "a*/", "\xc3\xa4"};
    rn_net unusable;
    rn_net_desc none = rn_make_net_desc(0, 2);
    ASSERT_EQ(1, writes(&nets[0], theta[0], "_a9Z"));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ASSERT_EQm(bad[i], 0, writes(&nets[0], theta[0], bad[i]));
    ASSERT_EQ(0, writes(&nets[0], theta[0], NULL));
    ASSERT_EQ(0, writes(&nets[0], NULL, "a"));
    ASSERT_EQ((size_t)0, rn_make_net_policy(&unusable, &none).dim);
    ASSERT_EQ(0, writes(&unusable, theta[0], "a"));
    ASSERT(!policy_c_write_net(NULL, &nets[0], theta[0], "a"));
    for (int k = 0; k < 3; k++) {
        static const double odd[] = {(double)INFINITY, -(double)INFINITY, (double)NAN};
        rn_real *last = &theta[0][policies[0].dim - 1];
        const rn_real kept = *last;
        *last = (rn_real)odd[k];
        const int wrote = writes(&nets[0], theta[0], "a");
        *last = kept;
        ASSERT_EQ(0, wrote);
    }
    PASS();
}

/* C's point, whatever the locale of the program that writes has: a comma, or some bytes */
TEST locales_do_not_show(void) {
    static const char *const said[][2] = {{"-0,25", "-0.25"},
                                          {"1,40129846e-45", "1.40129846e-45"},
                                          {"2\xd9\xab"
                                           "5",
                                           "2.5"},
                                          {"1e-30", "1e-30"},
                                          {"-3.5e+38", "-3.5e+38"},
                                          {"7", "7"}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        char digits[32];
        snprintf(digits, sizeof digits, "%s", said[i][0]);
        policy_c_point(digits);
        ASSERT_STR_EQ(said[i][1], digits);
    }
    PASS();
}

SUITE(policy_c) {
    make_policies();
    make_calls();
    answer_calls();
    for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++)
        RUN_TEST1(plays_the_same, compilers[i]);
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        RUN_TEST1(is_not_compiled, forbidden[i]);
    RUN_TEST(refuses);
    RUN_TEST(locales_do_not_show);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    program_path = argv[0];
    RUN_SUITE(policy_c);
    GREATEST_MAIN_END();
}
