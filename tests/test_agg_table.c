/* The tables of aggregators.h: a row for each rule, pre-aggregation and attack, in the order of the
   enums. What a row must say is listed here once more, so that a row that was forgotten, swapped or
   changed by accident fails; and what it says is held against what the public functions do.
   A new rule is a row in the header's table and a row here. */
#define AGGREGATORS_IMPLEMENTATION
#include "aggregators.h"
#include "greatest.h"
#include <math.h>
#include "common.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- what the rows must say ---- */
typedef struct rule_row {
    agg_rule id;
    const char *name, *cost;
    int order_optimal;
    size_t a, b, classic_b; /* n >= a f + b */
    double lambda;          /* for n = 10, f = 2, dim = 4 */
    int needs;
    aggi_result_kind result;
    int (*run)(aggi_call *c);
} rule_row;

/* clang-format off */

static const rule_row rule_rows[] = {
    {AGG_MDA,        "MDA",        "n^2 d + search", 1, 2, 1, 1, 0.5,
     AGGI_PAIRS | AGGI_COVER,                  AGGI_WEIGHTS, aggi_mda},
    {AGG_CWTM,       "CWTM",       "n d",            1, 2, 1, 1, 0.5,
     AGGI_COLUMNS,                             AGGI_WRITTEN, aggi_cwtm},
    {AGG_MEAMED,     "MeaMed",     "n d",            1, 2, 1, 1, 1,
     AGGI_COLUMNS,                             AGGI_WRITTEN, aggi_meamed},
    {AGG_CWMED,      "CWMed",      "n d",            0, 2, 1, 1, 1.25,
     AGGI_COLUMNS,                             AGGI_WRITTEN, aggi_cwmed},
    {AGG_KRUM,       "Krum",       "n^2 d",          0, 2, 1, 3, 2.1547005383792515,
     AGGI_PAIRS,                               AGGI_WEIGHTS, aggi_krum},
    {AGG_MULTI_KRUM, "Multi-Krum", "n^2 d",          0, 2, 1, 3, 2.1547005383792515,
     AGGI_PAIRS | AGGI_Q,                      AGGI_WEIGHTS, aggi_multi_krum},
    {AGG_GM,         "GM",         "n^2 d",          0, 2, 1, 1, 2.0327955589886444,
     AGGI_PAIRS | AGGI_GM,                     AGGI_WRITTEN, aggi_geometric_median},
    {AGG_MEAN,       "mean",       "n d",            0, 2, 1, 1, DBL_MAX, /* infinite */
     AGGI_BASELINE,                            AGGI_WEIGHTS, aggi_mean},
    {AGG_BULYAN,     "Bulyan",     "n^2 d",          0, 4, 3, 3, -1,
     AGGI_PAIRS | AGGI_COLUMNS | AGGI_PICKED | AGGI_ORDER, AGGI_WRITTEN, aggi_bulyan},
    {AGG_CCLIP,      "CClip",      "n d",            0, 2, 1, 1, -1,
     AGGI_COLUMNS | AGGI_PICKED,               AGGI_WRITTEN, aggi_cclip},
    {AGG_CGE,        "CGE",        "n d",            0, 2, 1, 1, -1,
     0,                                        AGGI_WEIGHTS, aggi_cge},
    {AGG_MONNA,      "MoNNA",      "n d",            0, 2, 1, 1, -1,
     AGGI_PIVOT,                               AGGI_WEIGHTS, aggi_monna},
    {AGG_CAF,        "CAF",        "n^2 d + f n^2",  0, 2, 1, 1, -1,
     AGGI_PAIRS | AGGI_SPECTRUM,               AGGI_WEIGHTS, aggi_caf},
    {AGG_SMEA,       "SMEA",       "n^2 d + search", 0, 2, 1, 1, -1,
     AGGI_PAIRS | AGGI_SPECTRUM,               AGGI_WEIGHTS, aggi_smea},
    {AGG_AKSEL,      "Aksel",      "n d",            0, 2, 1, 1, 1,
     AGGI_COLUMNS,                             AGGI_WEIGHTS, aggi_aksel},
    {AGG_DNC,        "DnC",        "n^2 d",          0, 2, 1, 1, -1,
     AGGI_PAIRS | AGGI_SPECTRUM | AGGI_EXCERPT | AGGI_RNG, AGGI_WEIGHTS, aggi_dnc},
    {AGG_FLTRUST,    "FLTrust",    "n d",            0, 2, 1, 1, -1,
     AGGI_PICKED | AGGI_PIVOT | AGGI_TRUSTED,  AGGI_WRITTEN, aggi_fltrust},
    {AGG_SIGNGUARD,  "SignGuard",  "n d",            0, 2, 1, 1, -1,
     AGGI_PICKED | AGGI_SIGNS | AGGI_RNG,      AGGI_WRITTEN, aggi_signguard},
    {AGG_GAS,        "GAS",        "n d",            0, 2, 1, 1, -1,
     AGGI_COLUMNS | AGGI_DEAL | AGGI_RNG,      AGGI_WEIGHTS, aggi_gas},
    {AGG_WINSOR,     "winsorised", "n d",            0, 2, 1, 1, 0.5,
     AGGI_COLUMNS,                             AGGI_WRITTEN, aggi_winsor},
    {AGG_SIGN_VOTE,  "sign vote",  "n d",            0, 2, 1, 1, -1,
     0,                                        AGGI_WRITTEN, aggi_sign_vote},
    {AGG_FEDPG,      "FedPG",      "n^2 d",          0, 2, 1, 1, -1,
     AGGI_PAIRS | AGGI_PICKED,                 AGGI_WEIGHTS, aggi_fedpg},
};

typedef struct pre_row {
    agg_pre id;
    const char *name;
    int needs;
    size_t rows; /* made of 7, with buckets of 3 */
    int (*fill)(aggi_call *c, aggi_mix *m);
} pre_row;

static const pre_row pre_rows[] = {
    {AGG_PRE_NONE,      "none",      0,                       7, NULL},
    {AGG_PRE_NNM,       "NNM",       AGGI_PAIRS | AGGI_MIXER, 7, aggi_mix_nnm},
    {AGG_PRE_BUCKETING, "bucketing", AGGI_RNG,                3, aggi_mix_bucketing},
    {AGG_PRE_CLIP,      "clipping",  AGGI_CLIP,               7, aggi_mix_clip},
    {AGG_PRE_ARC,       "ARC",       0,                       7, aggi_mix_arc},
    {AGG_PRE_CLIP_MEDIAN, "median clipping", 0,               7, aggi_mix_clip_median},
};

typedef struct attack_row {
    agg_attack_kind id;
    const char *name;
    double strength; /* by default; 0: by n and f */
    int reads;
    double (*number)(aggi_adversary *a, size_t k);
    void (*make)(aggi_plot *p);
} attack_row;

static const attack_row attack_rows[] = {
    {AGG_ATTACK_SIGN_FLIP,    "sign flipping",        2.5, AGGI_OWN, aggi_flip, NULL},
    {AGG_ATTACK_NOISE,        "random noise",           3, AGGI_OWN | AGGI_RANDOM,
     aggi_noise, NULL},
    {AGG_ATTACK_GAUSSIAN,     "Gaussian noise",         1, AGGI_OWN | AGGI_RANDOM,
     aggi_gauss, NULL},
    {AGG_ATTACK_ZERO,         "zero",                   1, 0, aggi_zero, NULL},
    {AGG_ATTACK_IPM,          "inner product",        0.5, AGGI_HONEST, aggi_ipm, NULL},
    {AGG_ATTACK_ALIE,         "ALIE",                   0, AGGI_HONEST | AGGI_MAJORITY,
     aggi_alie, NULL},
    {AGG_ATTACK_MIMIC,        "mimic",                  1, AGGI_TARGET, aggi_mimic, NULL},
    {AGG_ATTACK_INF,          "Inf",                    1, AGGI_CONVICTS, aggi_inf, NULL},
    {AGG_ATTACK_NAN,          "NaN",                    1, AGGI_CONVICTS, aggi_nan, NULL},
    {AGG_ATTACK_LINE_SEARCH,  "line search",            1, AGGI_HONEST | AGGI_UNDER_FIRE,
     NULL, aggi_line_search},
    {AGG_ATTACK_OPT_COS,      "opt-cos",                1, AGGI_HONEST | AGGI_UNDER_FIRE,
     NULL, aggi_opt_cos},
    {AGG_ATTACK_MIN_MAX,      "Min-Max",                1, AGGI_HONEST, NULL, aggi_min_max},
    {AGG_ATTACK_MIN_SUM,      "Min-Sum",                1, AGGI_HONEST, NULL, aggi_min_sum},
    {AGG_ATTACK_FANG_TRIM,    "Fang trim",              2, AGGI_HONEST | AGGI_RANDOM,
     aggi_fang_trim, NULL},
    {AGG_ATTACK_FANG_KRUM,    "Fang Krum",              1, AGGI_HONEST | AGGI_MINORITY,
     NULL, aggi_fang_krum},
    {AGG_ATTACK_NORMALISED,   "normalised attack",      1, AGGI_HONEST | AGGI_UNDER_FIRE,
     NULL, aggi_normalised},
    {AGG_ATTACK_MDA_FOOLING,  "MDA fooling",            1, AGGI_HONEST | AGGI_MINORITY,
     NULL, aggi_mda_fooling},
    {AGG_ATTACK_AVG_ZERO,     "mean to zero",           1, AGGI_HONEST | AGGI_CROWD,
     aggi_avg_zero, NULL},
    {AGG_ATTACK_LARGE_NOISE,  "large noise",         1000, AGGI_RANDOM, aggi_large_noise, NULL},
    {AGG_ATTACK_PARTIAL_DROP, "partial drop",         0.3, AGGI_OWN | AGGI_RANDOM,
     aggi_partial_drop, NULL},
    {AGG_ATTACK_ROP,          "ROP",                    0, AGGI_HONEST | AGGI_MAJORITY,
     NULL, aggi_rop},
    {AGG_ATTACK_ONLINE_MIMIC, "online mimic",           1,
     AGGI_HONEST | AGGI_RANDOM | AGGI_REMEMBERS, NULL, aggi_online_mimic},
    {AGG_ATTACK_ANTI_CGE,     "anti-CGE",               1, AGGI_HONEST | AGGI_MINORITY,
     NULL, aggi_anti_cge},
    {AGG_ATTACK_BLIND_IPM,    "blind inner product",    1, AGGI_OWN, aggi_blind_ipm, NULL},
    {AGG_ATTACK_WORST,        "worst",                  1, AGGI_HONEST | AGGI_UNDER_FIRE,
     NULL, aggi_worst},
};

/* clang-format on */

/* ---- rules ---- */
TEST rules_are_in_order(void) {
    ASSERT_EQ((size_t)AGG_RULE_COUNT, COUNT(aggi_rules));
    ASSERT_EQ((size_t)AGG_RULE_COUNT, COUNT(rule_rows));
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) {
        const aggi_rule *row = &aggi_rules[i];
        const rule_row *want = &rule_rows[i];
        ASSERT_EQ(rule_at(i), row->id);
        ASSERT_EQ(rule_at(i), want->id);
        ASSERTm(want->name, row->run == want->run && row->result == want->result);
        ASSERT_EQ(want->needs, row->needs);
        for (size_t j = 0; j < i; j++) /* no row is a copy of another */
            ASSERT(row->run != aggi_rules[j].run && strcmp(row->name, aggi_rules[j].name));
    }
    PASS();
}

TEST rules_say_what_the_public_functions_say(void) {
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) {
        const rule_row *want = &rule_rows[i];
        const double lambda = agg_lambda(want->id, 10, 2, 4);
        ASSERT_STR_EQ(want->name, agg_rule_name(want->id));
        ASSERT_STR_EQ(want->cost, agg_rule_cost(want->id));
        ASSERT_EQ(want->order_optimal, agg_rule_is_order_optimal(want->id));
        if (want->lambda >= DBL_MAX)
            ASSERTm(want->name, isinf(lambda) && lambda > 0);
        else
            ASSERT_IN_RANGE(want->lambda, lambda, 1e-12);
    }
    PASS();
}

/* lambda is -1 for every f, or finite and not negative up to max_f and infinite beyond */
static int lambda_ends_at(agg_rule rule, size_t n, size_t most) {
    const int has_one = aggi_rules[rule].lambda != NULL;
    for (size_t f = 0; f <= n; f++) {
        const double lambda = agg_lambda(rule, n, f, 3);
        if (!has_one && !(lambda < 0)) return 0;
        if (has_one && !(lambda >= 0)) return 0;
        if (has_one && (isfinite(lambda) ? 1 : 0) != (f <= most)) return 0;
    }
    return 1;
}

/* does agg_aggregate() take f of n? */
static int call_takes(agg_rule rule, size_t n, size_t f, int classic) {
    rng r = rng_make(1);
    agg_desc d = agg_make_desc(rule, n, 3, f);
    d.classic_krum = classic;
    d.rng = rng_for_library(&r);
    return agg_scratch_size(&d) > 0;
}

TEST rules_break_down_where_they_say(void) {
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) {
        const rule_row *want = &rule_rows[i];
        for (size_t n = 1; n <= 24; n++) {
            const size_t within = n < want->b ? 0 : (n - want->b) / want->a;
            const size_t most = want->needs & AGGI_BASELINE ? 0 : within;
            ASSERT_EQ(most, agg_max_f(want->id, n));
            ASSERTm(want->name, lambda_ends_at(want->id, n, most));
            for (size_t f = 0; f <= n; f++) {
                ASSERT_EQ(n >= want->a * f + want->b, call_takes(want->id, n, f, 0));
                ASSERT_EQ(n >= want->a * f + want->classic_b, call_takes(want->id, n, f, 1));
            }
        }
        ASSERT_EQ((size_t)0, agg_max_f(want->id, 0));
    }
    PASS();
}

/* the memory of a family is there if and only if the row asks for it */
static int memory_follows(const aggi_call *c, int needs) {
    return !c->pairs.entry == !(needs & AGGI_PAIRS) &&
           !c->columns.block == !(needs & AGGI_COLUMNS) &&
           !c->cover.edge == !(needs & AGGI_COVER) && !c->gm.row == !(needs & AGGI_GM) &&
           !c->spectrum.square == !(needs & AGGI_SPECTRUM) &&
           !c->order.nearest == !(needs & AGGI_ORDER) && !c->picked.row == !(needs & AGGI_PICKED) &&
           !c->excerpt.row == !(needs & AGGI_EXCERPT) && !c->deal.block == !(needs & AGGI_DEAL) &&
           !c->signs.root == !(needs & AGGI_SIGNS) && c->x && c->weight && c->out && c->part;
}

TEST rules_get_the_memory_they_need(void) {
    rng r = rng_make(10);
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) {
        const agg_desc bare = agg_make_desc(rule_at(i), 7, 5, 1), d = desc_with_rng(&bare, &r);
        const size_t size = agg_scratch_size(&d);
        void *scratch = need(malloc(size));
        aggi_call c;
        ASSERT_EQ(size, aggi_begin(&c, &d, scratch, size));
        ASSERTm(agg_rule_name(d.rule), memory_follows(&c, aggi_rules[i].needs));
        ASSERT(!c.mix[0].row && !c.mix[1].row);
        free(scratch);
    }
    PASS();
}

/* one wrong option at a time: refused if and only if the row says that it is read */
TEST rules_check_the_options_they_read(void) {
    const agg_real row[5] = {0};
    rng r = rng_make(10);
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) {
        const int needs = aggi_rules[i].needs;
        agg_desc d = agg_make_desc(rule_at(i), 7, 5, 1);
        ASSERT_EQ(!(needs & AGGI_RNG), agg_scratch_size(&d) > 0);
        d.rng = rng_for_library(&r);
        ASSERT(agg_scratch_size(&d) > 0);
        d.q = 7; /* n - f is 6 */
        ASSERT_EQ(!(needs & AGGI_Q), agg_scratch_size(&d) > 0);
        d.q = 0;
        d.pivot = 7;
        ASSERT_EQ(!(needs & AGGI_PIVOT), agg_scratch_size(&d) > 0);
        d.trusted = row; /* then the pivot is not read */
        ASSERT_EQ(!(needs & AGGI_PIVOT) || (needs & AGGI_TRUSTED), agg_scratch_size(&d) > 0);
    }
    PASS();
}

/* a rule of kind AGGI_WRITTEN fills c->out itself, one of kind AGGI_WEIGHTS leaves it alone, unless
   it has columns to put there for a while */
TEST rules_leave_the_result_they_say(void) {
    rng r = rng_make(11);
    rows x = rows_new(7, 5);
    fill_rows(&x, LAY_RANDOM, &r);
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) {
        const agg_desc bare = agg_make_desc(rule_at(i), 7, 5, 1), d = desc_with_rng(&bare, &r);
        const size_t size = agg_scratch_size(&d);
        void *scratch = need(malloc(size));
        size_t written = 0;
        aggi_call c;
        (void)aggi_begin(&c, &d, scratch, size);
        aggi_collect(&c, x.row);
        aggi_play(&c);
        for (size_t k = 0; k < 5; k++) c.out[k] = 777;
        c.total = 0;
        ASSERT_EQ(AGG_OK, aggi_rules[i].run(&c));
        for (size_t k = 0; k < 5; k++) written += c.out[k] < 776;
        /* those of kind AGGI_WEIGHTS may use c->out, as it is not the result yet */
        if (!(aggi_rules[i].needs & AGGI_COLUMNS) || aggi_rules[i].result == AGGI_WRITTEN)
            ASSERT_EQ(aggi_rules[i].result == AGGI_WRITTEN ? (size_t)5 : (size_t)0, written);
        if (aggi_rules[i].result == AGGI_WEIGHTS) ASSERT(c.total > 0);
        free(scratch);
    }
    rows_free(&x);
    PASS();
}

/* ---- pre-aggregations ---- */
TEST pre_aggregations_are_in_order(void) {
    ASSERT_EQ((size_t)AGG_PRE_COUNT, COUNT(aggi_pres));
    ASSERT_EQ((size_t)AGG_PRE_COUNT, COUNT(pre_rows));
    for (size_t i = 0; i < AGG_PRE_COUNT; i++) {
        const aggi_pre *row = &aggi_pres[i];
        const pre_row *want = &pre_rows[i];
        agg_desc d = agg_make_desc(AGG_MEAN, 7, 5, 1);
        d.bucket = 3;
        ASSERT_EQ((agg_pre)i, row->id);
        ASSERT_EQ((agg_pre)i, want->id);
        ASSERT_EQ(want->needs, row->needs);
        ASSERT_EQ(want->rows, row->rows(&d, 7));
        ASSERTm(want->name, row->fill == want->fill);
        ASSERT_STR_EQ(want->name, agg_pre_name(want->id));
    }
    PASS();
}

TEST pre_aggregations_get_what_they_need(void) {
    rng r = rng_make(12);
    for (size_t i = 0; i < AGG_PRE_COUNT; i++)
        for (size_t which = 0; which < 2; which++) {
            const int needs = aggi_pres[i].needs;
            agg_desc d = agg_make_desc(AGG_CGE, 9, 5, 1);
            size_t size;
            void *scratch;
            aggi_call c;
            d.pre[which] = (agg_pre)i;
            d.clip = 1;
            d.rng = rng_for_library(&r);
            size = agg_scratch_size(&d);
            scratch = need(malloc(size));
            ASSERT_EQ(size, aggi_begin(&c, &d, scratch, size));
            ASSERTm(agg_pre_name((agg_pre)i), memory_follows(&c, needs));
            ASSERT_EQ(i == AGG_PRE_NONE, !c.mix[which].row);
            ASSERT(!c.mix[1 - which].row);
            d.rng.next = NULL;
            ASSERT_EQ(!(needs & AGGI_RNG), agg_scratch_size(&d) > 0);
            d.rng = rng_for_library(&r);
            d.clip = 0;
            ASSERT_EQ(!(needs & AGGI_CLIP), agg_scratch_size(&d) > 0);
            free(scratch);
        }
    PASS();
}

/* ---- attacks ---- */
TEST attacks_are_in_order(void) {
    ASSERT_EQ((size_t)AGG_ATTACK_COUNT, COUNT(aggi_attacks));
    ASSERT_EQ((size_t)AGG_ATTACK_COUNT, COUNT(attack_rows));
    for (size_t i = 0; i < AGG_ATTACK_COUNT; i++) {
        const aggi_attack *row = &aggi_attacks[i];
        const attack_row *want = &attack_rows[i];
        ASSERT_EQ((agg_attack_kind)i, row->id);
        ASSERT_EQ((agg_attack_kind)i, want->id);
        ASSERT_EQ(want->reads, row->reads);
        ASSERT_IN_RANGE(want->strength, row->strength, 0.0);
        ASSERTm(want->name, row->number == want->number && row->make == want->make);
        ASSERTm(want->name, !row->number != !row->make);
        ASSERT_STR_EQ(want->name, agg_attack_name(want->id));
    }
    PASS();
}

/* what every attack may ask for: 9 rows, 2 adversaries, 5 numbers */
typedef struct kit {
    agg_desc rule;
    char scratch[1 << 16], memory[256];
} kit;

static agg_attack_desc armed(kit *t, size_t kind, rng *r) {
    agg_attack_desc a;
    memset(&a, 0, sizeof a);
    memset(t, 0, sizeof *t);
    t->rule = agg_make_desc(AGG_MDA, 9, 5, 2);
    a.n = 9;
    a.f = 2;
    a.kind = (agg_attack_kind)kind;
    a.rng = rng_for_library(r);
    a.rule = &t->rule;
    a.scratch = t->scratch;
    a.scratch_size = sizeof t->scratch;
    a.memory = t->memory;
    a.memory_size = sizeof t->memory;
    return a;
}

static agg_status attack_status(const agg_attack_desc *a, const rows *honest, const agg_real *own) {
    agg_real out[5];
    return agg_attack(a, honest ? honest->row : NULL, honest ? honest->n : 0, 5, own, out);
}

/* what the row says is read must be there, the rest may be missing */
TEST attacks_check_what_they_read(void) {
    static kit t;
    rng r = rng_make(13);
    rows x = rows_new(4, 5);
    fill_rows(&x, LAY_RANDOM, &r);
    for (size_t i = 0; i < AGG_ATTACK_COUNT; i++) {
        const int reads = aggi_attacks[i].reads;
        const int rows_always = (reads & (AGGI_HONEST | AGGI_TARGET)) != 0;
        agg_attack_desc a = armed(&t, i, &r);
        ASSERT_EQ(AGG_OK, attack_status(&a, &x, x.row[0]));
        ASSERT_EQ(rows_always ? AGG_ERR_ARG : AGG_OK, attack_status(&a, NULL, x.row[0]));
        ASSERT_EQ(rows_always || (reads & AGGI_OWN) ? AGG_ERR_ARG : AGG_OK,
                  attack_status(&a, NULL, NULL));
        a.target = 4;
        ASSERT_EQ(reads & AGGI_TARGET ? AGG_ERR_ARG : AGG_OK, attack_status(&a, &x, x.row[0]));
        a.target = 0;
        a.rng.next = NULL;
        ASSERT_EQ(reads & AGGI_RANDOM ? AGG_ERR_RNG : AGG_OK, attack_status(&a, &x, x.row[0]));
        a.rng = rng_for_library(&r);
        a.memory = NULL;
        ASSERT_EQ(reads & AGGI_REMEMBERS ? AGG_ERR_ARG : AGG_OK, attack_status(&a, &x, x.row[0]));
        a.memory = t.memory;
        a.rule = NULL;
        ASSERT_EQ(reads & AGGI_UNDER_FIRE ? AGG_ERR_ARG : AGG_OK, attack_status(&a, &x, x.row[0]));
        a.n = 0;
        ASSERT_EQ(reads & AGGI_UNDER_FIRE                                ? AGG_ERR_ARG
                  : reads & (AGGI_MAJORITY | AGGI_CROWD | AGGI_MINORITY) ? AGG_ERR_BOUND
                                                                         : AGG_OK,
                  attack_status(&a, &x, x.row[0]));
        a.rule = &t.rule; /* which has an n */
        ASSERT_EQ(AGG_OK, attack_status(&a, &x, x.row[0]));
    }
    rows_free(&x);
    PASS();
}

/* no strength given is the strength of the row, for the attacks that have one */
TEST attacks_have_the_strength_they_say(void) {
    static kit t;
    rng r = rng_make(14);
    rows x = rows_new(4, 5);
    fill_rows(&x, LAY_RANDOM, &r);
    for (size_t i = 0; i < AGG_ATTACK_COUNT; i++) {
        agg_real plain[5], given[5];
        rng p = rng_make(1), q = rng_make(1);
        agg_attack_desc a = armed(&t, i, &p);
        ASSERT_EQ(AGG_OK, agg_attack(&a, x.row, 4, 5, x.row[0], plain));
        a = armed(&t, i, &q);
        a.strength =
            aggi_attacks[i].reads & AGGI_MAJORITY ? aggi_alie_z(9, 2) : attack_rows[i].strength;
        ASSERT_EQ(AGG_OK, agg_attack(&a, x.row, 4, 5, x.row[0], given));
        ASSERTm(agg_attack_name(a.kind), same_bits(plain, given, 5));
    }
    rows_free(&x);
    PASS();
}

/* scratch and memory are asked for by those and only those who use them */
TEST attacks_get_the_memory_they_need(void) {
    static kit t;
    rng r = rng_make(15);
    rows x = rows_new(4, 5);
    fill_rows(&x, LAY_RANDOM, &r);
    for (size_t i = 0; i < AGG_ATTACK_COUNT; i++) {
        agg_attack_desc a = armed(&t, i, &r);
        const size_t size = agg_attack_scratch_size(&a, 4, 5), kept = agg_attack_memory_size(&a, 5);
        ASSERT_EQ(aggi_attacks[i].make != NULL, size > 0);
        ASSERT_EQ((aggi_attacks[i].reads & AGGI_REMEMBERS) != 0, kept > 0);
        a.scratch_size = size;
        a.memory_size = kept;
        ASSERT_EQ(AGG_OK, attack_status(&a, &x, x.row[0]));
        a.scratch_size = size ? size - 1 : 0;
        ASSERT_EQ(size ? AGG_ERR_SCRATCH : AGG_OK, attack_status(&a, &x, x.row[0]));
        a.scratch = NULL;
        ASSERT_EQ(size ? AGG_ERR_ARG : AGG_OK, attack_status(&a, &x, x.row[0]));
        a = armed(&t, i, &r);
        a.memory_size = kept ? kept - 1 : 0;
        ASSERT_EQ(kept ? AGG_ERR_SCRATCH : AGG_OK, attack_status(&a, &x, x.row[0]));
    }
    rows_free(&x);
    PASS();
}

SUITE(tables) {
    RUN_TEST(rules_are_in_order);
    RUN_TEST(rules_say_what_the_public_functions_say);
    RUN_TEST(rules_break_down_where_they_say);
    RUN_TEST(rules_get_the_memory_they_need);
    RUN_TEST(rules_check_the_options_they_read);
    RUN_TEST(rules_leave_the_result_they_say);
    RUN_TEST(pre_aggregations_are_in_order);
    RUN_TEST(pre_aggregations_get_what_they_need);
    RUN_TEST(attacks_are_in_order);
    RUN_TEST(attacks_check_what_they_read);
    RUN_TEST(attacks_have_the_strength_they_say);
    RUN_TEST(attacks_get_the_memory_they_need);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(tables);
    GREATEST_MAIN_END();
}
