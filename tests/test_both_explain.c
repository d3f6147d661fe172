/* What is refused is explained: each mistake in a desc is named in words, with field, value and
   bound, and the status is that of the call that refuses. What is allowed but seldom meant gets a
   hint. The words never leave the caller's buffer. */
#include "implementation.h"
#include "resnharpg.h"
#include "greatest.h"
#include "common.h"
#include "tiny.h"

enum { SIZE = 1024, AGENTS = 10 };

static const double nan_ = (double)NAN, inf_ = (double)INFINITY;

/* ---- a rule */

/* clang-format off */

/* X(change of a desc for 10 rows of 2 and f = 1, status, words) */
#define RULES(X)                                                                                   \
    X(d.n = 10,               AGG_OK,        "ok")                                                 \
    X(d.n = 0,                AGG_ERR_ARG,   "n is 0 and dim is 2: rows and numbers a row, not 0") \
    X(d.dim = 0,              AGG_ERR_ARG,   "n is 10 and dim is 0: rows and numbers a row, not 0")\
    X(d.rule = (agg_rule)99,  AGG_ERR_ARG,   "rule is 99: the rules are 0 .. ")                    \
    X(d.pre[0] = (agg_pre)77, AGG_ERR_ARG,   "pre[0] is 77: the pre-aggregations are 0 .. ")       \
    X(d.pre[1] = (agg_pre)77, AGG_ERR_ARG,   "pre[1] is 77: the pre-aggregations are 0 .. ")       \
    X(d.f = 5,                AGG_ERR_BOUND,                                                       \
      "f is 5: MDA survives at most 4 of 10, for n >= 2 f + 1")                                    \
    X(d.f = 2; d.rule = AGG_BULYAN, AGG_ERR_BOUND,                                                 \
      "f is 2: Bulyan survives at most 1 of 10, for n >= 4 f + 3")                                 \
    X(d.f = 0; d.n = 2; d.rule = AGG_BULYAN, AGG_ERR_BOUND,                                        \
      "f is 0: Bulyan survives at most 0 of 2, for n >= 4 f + 3")                                  \
    X(d.f = 4; d.rule = AGG_KRUM; d.classic_krum = 1, AGG_ERR_BOUND,                               \
      "f is 4: Krum survives at most 3 of 10, for n >= 2 f + 3")                                   \
    X(d.f = 3; d.pre[0] = AGG_PRE_BUCKETING; d.rng = bits, AGG_ERR_BOUND,                          \
      "f is 3: MDA survives at most 2 of the 5 rows that buckets leave, for rows >= 2 f + 1")      \
    X(d.pre[0] = AGG_PRE_BUCKETING, AGG_ERR_RNG, "rng.next is NULL: bucketing draws")              \
    X(d.pre[0] = AGG_PRE_CLIP, AGG_ERR_ARG,                                                        \
      "clip is 0: AGG_PRE_CLIP needs a finite norm above 0")                                       \
    X(d.pre[1] = AGG_PRE_CLIP; d.clip = -1.5, AGG_ERR_ARG, "clip is -1.5: ")                       \
    X(d.rule = AGG_MONNA; d.pivot = 10, AGG_ERR_ARG, "pivot is 10: the rows are 0 .. 9")           \
    X(d.tau = nan_,           AGG_ERR_ARG,   "tau is NaN: it is finite and above 0, or 0")         \
    X(d.gap = -inf_,          AGG_ERR_ARG,   "gap is -infinity: it is finite and above 0, or 0")   \
    X(d.share = 1.5,          AGG_ERR_ARG,   "share is 1.5: it is above 0, at most 1, or 0")       \
    X(d.sigma = nan_,         AGG_ERR_ARG,   "sigma is NaN: it is finite and above 0, or 0")       \
    X(d.delta = 1,            AGG_ERR_ARG,   "delta is 1: it is above 0, below 1, or 0")           \
    X(d.delta = -1,           AGG_ERR_ARG,   "delta is -1: it is above 0, below 1, or 0")          \
    X(d.rule = AGG_DNC,       AGG_ERR_RNG,   "rng.next is NULL: DnC draws random numbers")         \
    X(d.rule = AGG_MULTI_KRUM; d.q = 10, AGG_ERR_ARG,                                              \
      "q is 10: Multi-Krum averages at most n - f = 9 rows")                                       \
    X(d.dim = (size_t)-1,     AGG_ERR_SIZE,  "n is 10 and dim is ")                                \
    X(d.rule = AGG_MEAN,      AGG_OK,        "ok, but the mean survives no adversary")             \
    X(d.rule = AGG_MEAN; d.f = 0, AGG_OK,    "ok")

/* clang-format on */
static int begins_with(const char *s, const char *start) {
    return strncmp(s, start, strlen(start)) == 0;
}

/* the whole text, unless more of it is left to the library */
static int says(const char *text, const char *words) {
    return strcmp(words, "ok") == 0 ? strcmp(text, words) == 0 : begins_with(text, words);
}

TEST rules_are_explained(void) {
    rn_random random = rn_make_random(1, 0);
    const agg_rng bits = rn_random_rng(&random);
    rn_real data[20] = {0}, out[2];
    const rn_real *row[10];
    static unsigned char scratch[1 << 16];
    char text[SIZE];
    for (size_t i = 0; i < 10; i++) row[i] = data + 2 * i;
#define RULES_X(change, status, words)                                                             \
    {                                                                                              \
        agg_desc d = agg_make_desc(AGG_MDA, 10, 2, 1);                                             \
        change;                                                                                    \
        if (agg_explain(&d, text, sizeof text) != status || !says(text, words))                    \
            FAILm(WHY("%.99s: %.299s", #change, text));                                            \
        ASSERT(strlen(text) < 128);                                                                \
        ASSERT_EQ(status, agg_aggregate(&d, row, out, scratch, sizeof scratch, NULL));             \
    }
    RULES(RULES_X)
#undef RULES_X
    ASSERT_EQ(AGG_ERR_ARG, agg_explain(NULL, text, sizeof text));
    ASSERT_STR_EQ("the desc is NULL", text);
    PASS();
}

/* ---- a net */

/* clang-format off */
#define NETS(X)                                                                                    \
    X(d.obs_dim = 4,                   RN_OK,       "ok")                                          \
    X(d.gaussian = 1,                  RN_OK,       "ok\nhint: the net's log_std is 0: ")          \
    X(d.gaussian = 1; d.log_std = -1,  RN_OK,       "ok")                                          \
    X(d.obs_dim = 0,                   RN_ERR_DESC, "obs_dim is 0: it is 1 .. 16777216")           \
    X(d.obs_dim = 16777217,            RN_ERR_DESC, "obs_dim is 16777217: ")                       \
    X(d.outputs = 0,                   RN_ERR_DESC, "outputs is 0: it is 1 .. 8388608")            \
    X(d.outputs = 9000000,             RN_ERR_DESC, "outputs is 9000000: ")                        \
    X(d.activation = (rn_activation)3, RN_ERR_DESC, "activation is 3: there are 0 .. 2")           \
    X(d.log_std = inf_,                RN_ERR_DESC, "log_std is infinity: it is finite")           \
    X(d.log_std_min = 1,               RN_ERR_DESC, "log_std_min is 1, log_std_max is 0: min is")  \
    X(d.log_std_min = nan_,            RN_ERR_DESC, "log_std_min is NaN, log_std_max is 0: ")      \
    X(d.log_std_max = nan_,            RN_ERR_DESC, "log_std_min is 0, log_std_max is NaN: ")      \
    X(d.clip = -0.25,                  RN_ERR_DESC, "clip is -0.25: it is 0 or more")              \
    X(d.clip = nan_,                   RN_ERR_DESC, "clip is NaN: ")                               \
    X(d.clip = -1e-310,                RN_ERR_DESC, "clip is -0: it is 0 or more")                 \
    X(d.out_scale = -1,                RN_ERR_DESC, "out_scale is -1: it is 0 or more, and finite")\
    X(d.hidden[0] = 20000000,          RN_ERR_DESC, "layer 0 has 4 inputs and 20000000 units: ")

/* clang-format on */
TEST nets_are_explained(void) {
    char text[SIZE];
    rn_net net;
#define NETS_X(change, status, words)                                                              \
    {                                                                                              \
        rn_net_desc d = rn_make_net_desc(4, 2);                                                    \
        change;                                                                                    \
        if (rn_net_explain(&d, text, sizeof text) != status || !says(text, words))                 \
            FAILm(WHY("%.99s: %.299s", #change, text));                                            \
        ASSERT_EQ(status == RN_OK, rn_make_net_policy(&net, &d).dim > 0);                          \
    }
    NETS(NETS_X)
#undef NETS_X
    ASSERT_EQ(RN_ERR_ARG, rn_net_explain(NULL, text, sizeof text));
    ASSERT_STR_EQ("null pointer or zero length", text);
    PASS();
}

/* ---- a trainer of ten agents with a net of 4 observations and 2 actions */
typedef struct party {
    rn_env envs[AGENTS];
    rn_net net;
    rn_real theta[16];
    rn_attack attacks[AGENTS];
    rn_trainer_desc d;
} party;

static void still_reset(void *self, const agg_rng *r, rn_real *obs) {
    (void)self;
    (void)r;
    for (int i = 0; i < 4; i++) obs[i] = 0;
}

static rn_step_result still_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                 double *reward) {
    still_reset(self, r, obs);
    *reward = (double)act[0];
    return RN_TERMINATED;
}

static void party_make(party *p) {
    const rn_net_desc shape = rn_make_net_desc(4, 2);
    memset(p, 0, sizeof *p);
    for (int i = 0; i < AGENTS; i++) {
        p->envs[i].reset = still_reset;
        p->envs[i].step = still_step;
        p->envs[i].obs_dim = 4;
        p->envs[i].act_dim = 1;
        p->envs[i].actions = 2;
    }
    p->d = rn_make_trainer_desc(AGENTS, 3, p->envs, rn_make_net_policy(&p->net, &shape));
    p->d.server.gamma = rn_schedule_constant(0.1);
}

/* a list of attacks: the first few flip signs */
static void honest_but(party *p, size_t adversaries) {
    p->d.attacks = p->attacks;
    for (size_t i = adversaries; i < AGENTS; i++) p->attacks[i].kind = RN_ATTACK_NONE;
}

static void mimic(party *p, size_t i, size_t target) {
    p->attacks[i].vector.kind = AGG_ATTACK_MIMIC;
    p->attacks[i].vector.target = target;
}

static int any_row(void *self, const rn_view *v, rn_real *row) {
    (void)self;
    memcpy(row, v->own, v->dim * sizeof *row);
    return 1;
}

static rn_policy net_of(rn_net *net, size_t inputs, size_t outputs, int gaussian) {
    rn_net_desc d = rn_make_net_desc(inputs, outputs);
    d.gaussian = gaussian;
    return rn_make_net_policy(net, &d);
}

static rn_env still_env(void *self, size_t index) {
    party p_;
    (void)self;
    party_make(&p_);
    return p_.envs[index];
}

static rn_policy layered(rn_net *net, size_t first, size_t second) {
    rn_net_desc d = rn_make_net_desc(4, 2);
    d.hidden[0] = first;
    d.hidden[1] = second;
    return rn_make_net_policy(net, &d);
}

static size_t no_room(void *self, size_t T) {
    (void)self;
    (void)T;
    return 0;
}

static double any_value(void *self, size_t t) {
    (void)self;
    return (double)t;
}

/* a rule of the host's: it is asked about nothing */
static agg_status any_rule(void *self, const rn_real *const *row, size_t n, size_t dim,
                           rn_real *out) {
    (void)self;
    (void)row;
    (void)n;
    (void)out;
    return dim ? AGG_OK : AGG_ERR_ARG;
}

/* clang-format off */

/* X(change, status, words): the eight mistakes that had one text between them come first */
#define TRAINERS(X)                                                                                \
    X(d->policy = net_of(&p.net, 5, 2, 0), RN_ERR_DESC,                                            \
      "agent 0: the environment shows 4 numbers, the policy takes 5 ")                             \
    X(d->policy = net_of(&p.net, 4, 3, 0), RN_ERR_DESC,                                            \
      "agent 0: the environment has 2 actions, the policy 3")                                      \
    X(d->policy = net_of(&p.net, 4, 1, 1), RN_ERR_DESC,                                            \
      "agent 0: the environment is discrete, with 2 actions, the policy is continuous (Gaussian")  \
    X(d->server.agg.f = 5, RN_ERR_DESC, "server.agg.f is 5: CWTM survives at most 4 of 10, for n") \
    X(d->server.agg.rule = AGG_BULYAN, RN_ERR_DESC,                                                \
      "server.agg.f is 3: Bulyan survives at most 1 of 10, for n >= 4 f + 3")                      \
    X(d->server.agg.pre[0] = AGG_PRE_BUCKETING, RN_ERR_DESC,                                       \
      "server.agg.f is 3: CWTM survives at most 2 of the 5 rows that buckets leave")               \
    X(d->adversaries = 11, RN_ERR_DESC, "adversaries is 11: there are 10 agents")                  \
    X(d->method.discount = 1.5, RN_ERR_DESC, "method.discount is 1.5: it is 0 .. 1")               \
    X(d->agents = 10, RN_OK, "ok")                                                                 \
    X(d->agents = 0, RN_ERR_ARG, "agents is 0")                                                    \
    X(d->agents = (size_t)-1, RN_ERR_SIZE, "agents is ")                                           \
    X(d->envs = NULL, RN_ERR_ARG, "envs and make_env are both NULL")                               \
    X(d->policy.dim = 0, RN_ERR_ARG, "policy.dim is 0: see rn_net_explain()")                      \
    X(d->policy.act = NULL, RN_ERR_ARG, "agent 0: policy.act is NULL")                             \
    X(d->policy.grad = NULL, RN_ERR_ARG, "agent 0: policy.grad is NULL")                           \
    X(d->policy.work_size = no_room, RN_ERR_SIZE, "agent 0: the sizes are so large")               \
    X(p.envs[9].step = NULL, RN_ERR_ARG, "agent 9: env.reset or env.step is NULL")                 \
    X(p.envs[9].act_dim = 0, RN_ERR_ARG, "agent 9: env.obs_dim is 4, env.act_dim is 0: neither")   \
    X(p.envs[9].actions = 0, RN_ERR_DESC,                                                          \
      "agent 9: the environment is continuous (env.actions is 0), the policy has 2 actions")       \
    X(p.envs[9].act_dim = 2, RN_ERR_DESC,                                                          \
      "agent 9: the environment takes 2 numbers as an action, the policy gives 1 (act_dim)")       \
    X(p.envs[9].act_dim = d->policy.act_dim = 2; d->envs += 9; d->agents = 1; d->server.agg.f = 0, \
      RN_ERR_DESC, "agent 0: env.act_dim is 2 with 2 discrete actions: ")                          \
    X(p.envs[0].obs_dim = d->policy.obs_dim = (size_t)-1, RN_ERR_SIZE, "agent 0: env.obs_dim is ") \
    X(p.envs[3].act_low = 2; p.envs[3].act_high = -0.001, RN_ERR_DESC,                             \
      "agent 3: env.act_low is 2, env.act_high is -0.001: finite, and low is at most high")        \
    X(p.envs[0].actions = d->policy.actions = 20000000, RN_ERR_DESC,                               \
      "agent 0: env.actions is 20000000: at most 16777216")                                        \
    X(p.envs[3].state_size = 8, RN_ERR_DESC, "agent 3: env.state_size is 8, but env.save or env.l")\
    X(d->method.estimator = (rn_estimator)2, RN_ERR_DESC, "method.estimator is 2: there are 0 ..") \
    X(d->method.baseline = (rn_baseline)3, RN_ERR_DESC, "method.baseline is 3: there are 0 .. 2")  \
    X(d->method.clip = -1, RN_ERR_DESC, "method.clip is -1: it is 0 or more, and finite")          \
    X(d->method.forget = 1e-12 + 1, RN_ERR_DESC, "method.forget is 1: it is 0 .. 1")               \
    X(d->method.ridge = -1e-12, RN_ERR_DESC, "method.ridge is -1e-12: it is 0 or more, and finite")\
    X(d->method.estimator = RN_REINFORCE, RN_ERR_DESC, "method.flat is not for RN_REINFORCE: ")    \
    X(d->method.no_hessian = 1, RN_ERR_DESC, "method.reuse excludes method.no_hessian: ")          \
    X(d->method.tuned = d->method.no_hessian = 1, RN_ERR_DESC, "method.tuned excludes method.no_h")\
    X(d->method.tuned = d->method.no_memory = 1, RN_ERR_DESC, "method.tuned excludes method.no_me")\
    X(d->method.horizon = (size_t)-1, RN_ERR_SIZE, "agent 0: method.horizon is ")                  \
    X(d->attacks = p.attacks; p.attacks[4].kind = (rn_attack_kind)99, RN_ERR_DESC,                 \
      "agent 4: attack.kind is 99: there are 0 .. ")                                               \
    X(d->attacks = p.attacks; p.attacks[4].knows = (rn_knowledge)3, RN_ERR_DESC,                   \
      "agent 4: attack.knows is 3: there are 0 .. 2")                                              \
    X(d->attacks = p.attacks; p.attacks[4].vector.kind = (agg_attack_kind)99, RN_ERR_DESC,         \
      "agent 4: attack.vector.kind is 99: there are 0 .. ")                                        \
    X(d->attacks = p.attacks; p.attacks[4].kind = RN_ATTACK_SILENCE; p.attacks[4].ramp = 7,        \
      RN_ERR_DESC, "agent 4: attack.wait is 0, attack.ramp is 7: they are for vectors and ")       \
    X(d->attacks = p.attacks; p.attacks[4].kind = RN_ATTACK_REWARD_POISON;                         \
      p.attacks[4].vector.strength = -1, RN_ERR_DESC,                                              \
      "agent 4: attack.vector.strength is -1: of a poison it is 0 or more, and finite")            \
    X(d->attacks = p.attacks; p.attacks[4].vector.kind = AGG_ATTACK_WORST;                         \
      d->server.aggregate = any_rule, RN_ERR_DESC,                                                 \
      "agent 4: attack.vector.rule is NULL: this attack tries the rule, and server.aggregate is")  \
    X(d->method.reuse = 0; d->method.lookahead = d->method.no_memory = 1, RN_ERR_DESC,             \
      "method.lookahead excludes method.no_memory: it stands on memory")                           \
    X(d->method.lookahead = d->method.tuned = 1, RN_ERR_DESC,                                      \
      "method.lookahead excludes method.tuned: it has no v to weigh")                              \
    X(d->method.lookahead = 1, RN_ERR_DESC,                                                        \
      "method.lookahead excludes method.reuse: it has no v to make")                               \
    X(d->server.watch = (rn_watch)9, RN_ERR_DESC, "server.watch is 9: there are 0 .. 2")           \
    X(d->server.slack = 2, RN_ERR_DESC, "server.slack is 2: it is 0 .. 1")                         \
    X(d->server.watch = RN_WATCH_NEWS; d->server.aggregate = any_rule; d->server.agg.f = 5,        \
      RN_ERR_DESC, "server.agg.f is 5: watch needs fewer adversaries than half of the 10 agents")  \
    X(d->server.gamma = rn_schedule_constant(0), RN_ERR_DESC,                                      \
      "server.gamma is 0 in round 1: it is above 0 there, or nothing is ever learned")             \
    X(d->server.gamma = rn_schedule_constant(-1), RN_ERR_DESC, "server.gamma is -1 in round 1: ")  \
    X(d->server.gamma = rn_schedule_linear(1, -0.5, 9), RN_ERR_DESC,                               \
      "server.gamma becomes -0.5: it is 0 .. infinity")                                            \
    X(d->server.eta = rn_schedule_constant(0), RN_ERR_DESC, "server.eta is 0 in round 1: ")        \
    X(d->server.eta = rn_schedule_constant(2), RN_ERR_DESC,                                        \
      "server.eta is 2 in round 1: it is at most 1")                                               \
    X(d->server.eta = rn_schedule_linear(1, 1.25, 9), RN_ERR_DESC,                                 \
      "server.eta becomes 1.25: it is 0 .. 1")                                                     \
    X(d->server.eta = rn_theory_eta(); d->server.eta.rounds = 2, RN_ERR_DESC,                      \
      "server.eta is infinity in round 1: it is at most 1")                                        \
    X(d->server.gamma = rn_theory_gamma(1, 1); d->server.gamma.rounds = 2;                         \
      d->server.gamma.shift = 0, RN_ERR_DESC,                                                      \
      "server.gamma is infinity in round 1: it is finite")                                         \
    X(d->adversaries = 1; d->attack.vector.strength = nan_, RN_ERR_DESC,                           \
      "agent 9: attack.vector.strength is NaN: it is finite")                                      \
    X(d->adversaries = 1; d->attack.vector.direction = (agg_attack_direction)99, RN_ERR_DESC,      \
      "agent 9: attack.vector.direction is 99: there are 0 .. ")                                   \
    X(d->adversaries = 3; d->attack.vector.kind = AGG_ATTACK_MIMIC; d->attack.vector.target = 8,   \
      RN_ERR_DESC, "agent 7: attack.vector.target is 8: at most 7 agents are honest")              \
    X(p.envs[0].self = p.envs[4].self = &p, RN_OK,                                                 \
      "ok\nhint: envs[0].self and envs[4].self are the same: each agent needs a state of its own") \
    X(p.envs[0].self = &p, RN_OK, "ok")                                                            \
    X(d->envs = NULL; d->make_env = still_env, RN_OK, "ok")                                        \
    X(d->policy = layered(&p.net, 8, 0), RN_OK, "ok")                                              \
    X(d->policy = layered(&p.net, 0, 8), RN_OK,                                                    \
      "ok\nhint: the net's hidden[0] is 0, hidden[1] is 8: layers end at the first 0, so it is lin")\
    X(d->server.gamma.kind = RN_SCHEDULE_INVERSE; d->server.gamma.value = 0, RN_ERR_DESC,          \
      "server.gamma is ")                                                                          \
    X(d->server.gamma.kind = RN_SCHEDULE_INVERSE; d->server.gamma.value = -1;                      \
      d->server.gamma.shift = -5, RN_ERR_DESC,                                                     \
      "server.gamma.value is -1: it is above 0 for RN_SCHEDULE_INVERSE")                           \
    X(d->server.gamma.kind = (rn_schedule_kind)9, RN_ERR_DESC, "server.gamma.kind is 9: there are")\
    X(d->server.eta.kind = RN_SCHEDULE_CALLBACK, RN_ERR_DESC, "server.eta.at is NULL, and eta.kin")\
    X(d->server.gamma.value = nan_, RN_ERR_DESC, "server.gamma.value is NaN, gamma.end is 0: both")\
    X(d->server.eta.shift = inf_, RN_ERR_DESC, "server.eta.factor is 0, eta.shift is infinity: bo")\
    X(d->server.gamma = rn_schedule_staircase(1, 2, 3), RN_ERR_DESC, "server.gamma.factor is 2: i")\
    X(d->server.update = (rn_update_kind)4, RN_ERR_DESC, "server.update is 4: there are 0 .. 3")   \
    X(d->server.update = RN_UPDATE_PLAIN, RN_ERR_DESC, "server.soft is not for RN_UPDATE_PLAIN: ") \
    X(d->server.kl = nan_, RN_ERR_DESC, "server.kl is NaN: it is 0 or more, and finite")           \
    X(d->server.kl = 0.002; d->server.update = RN_UPDATE_ADAM, RN_ERR_DESC,                        \
      "server.kl is 0.002, update is 2: kl is for RN_UPDATE_NORMALISED, 0")                        \
    X(d->server.beta2 = 1, RN_ERR_DESC, "server.beta1 is 0.9, beta2 is 1: they are 0 .. 1, and")   \
    X(d->server.epsilon = -1e30, RN_ERR_DESC, "server.epsilon is -1e30: it is 0 or more")          \
    X(d->server.radius = -1234567.5, RN_ERR_DESC, "server.radius is -123457e1: it is 0 or more")   \
    X(p.theta[9] = (rn_real)nan_; d->server.theta = p.theta, RN_ERR_THETA,                         \
      "server.theta has a number that is not finite")                                              \
    X(d->server.agg.pre[1] = AGG_PRE_CLIP, RN_ERR_DESC, "server.agg.clip is 0: AGG_PRE_CLIP needs")\
    X(d->method.discount = 0, RN_OK, "ok\nhint: method.discount is 0: an action is judged by")     \
    X(d->method.discount = 0; d->method.horizon = 1, RN_OK, "ok")                                  \
    X(d->server.gamma = rn_schedule_linear(0.1, 0, 200), RN_OK,                                    \
      "ok\nhint: server.gamma is 0 from round 201 on: then theta stands still")                    \
    X(d->server.gamma = rn_schedule_staircase(0.1, 0, 0), RN_OK,                                   \
      "ok\nhint: server.gamma is 0 from round 2 on: then theta stands still")                      \
    X(d->server.gamma = rn_schedule_linear(0.1, 0, (size_t)-1), RN_OK, "ok")                       \
    X(d->server.eta = rn_schedule_linear(1, 0, 1), RN_OK, "ok\nhint: server.eta is 0 from round 2")\
    X(d->server.gamma.kind = RN_SCHEDULE_CALLBACK; d->server.gamma.at = any_value, RN_OK, "ok")    \
    X(d->server.agg.rule = AGG_MEAN, RN_OK, "ok\nhint: server.agg.f is 3, but the mean survives")  \
    X(d->server.agg.rule = AGG_MEAN; d->server.agg.f = 0, RN_OK, "ok")                             \
    X(d->server.agg.rule = AGG_MEAN; d->server.aggregate = any_rule; d->adversaries = 4, RN_OK,    \
      "ok")                                                                                        \
    X(d->adversaries = 4, RN_OK, "ok\nhint: adversaries is 4, server.agg.f is 3: more than")       \
    X(d->adversaries = 4; d->attacks = p.attacks, RN_OK,                                           \
      "ok\nhint: attacks has 10 adversaries, server.agg.f is 3: more than the rule is asked to")   \
    X(d->attacks = p.attacks; d->server.aggregate = any_rule, RN_OK, "ok")                         \
    X(honest_but(&p, 3); d->adversaries = 4, RN_OK, "ok")                                          \
    X(honest_but(&p, 4), RN_OK, "ok\nhint: attacks has 4 adversaries, server.agg.f is 3: more")    \
    X(honest_but(&p, 1); mimic(&p, 0, 9), RN_OK,                                                   \
      "ok\nhint: attacks[0]: a mimic's target is one of the 9 honest, from 0; it will send noth")  \
    X(honest_but(&p, 1); mimic(&p, 0, 8), RN_OK, "ok")                                             \
    X(honest_but(&p, 3); mimic(&p, 2, 7), RN_OK, "ok\nhint: attacks[2]: a mimic's target is one")  \
    X(honest_but(&p, 1); mimic(&p, 0, 9); p.attacks[0].knows = RN_KNOWS_ADVERSARIES, RN_OK, "ok")  \
    X(honest_but(&p, 1); mimic(&p, 0, 9); p.attacks[0].make = any_row, RN_OK, "ok")                \
    X(honest_but(&p, 0); mimic(&p, 0, 9); p.attacks[0].kind = RN_ATTACK_SILENCE, RN_OK, "ok")

/* clang-format on */
static party p;

TEST trainers_are_explained(void) {
    char text[SIZE];
    rn_trainer *t;
#define TRAINERS_X(change, status, words)                                                          \
    {                                                                                              \
        rn_trainer_desc *d = &p.d;                                                                 \
        party_make(&p);                                                                            \
        change;                                                                                    \
        if (rn_trainer_explain(d, text, sizeof text) != status || !says(text, words))              \
            FAILm(WHY("%.99s: %.299s", #change, text));                                            \
        ASSERT_EQm(#change, status, rn_trainer_create(&t, d));                                     \
        if (status == RN_OK) rn_trainer_destroy(t);                                                \
    }
    TRAINERS(TRAINERS_X)
#undef TRAINERS_X
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_explain(NULL, text, sizeof text));
    ASSERT_STR_EQ("null pointer or zero length", text);
    PASS();
}

/* a desc with all that is called required, and nothing else: it would never learn */
TEST what_is_only_zeroed_is_told(void) {
    char text[SIZE];
    rn_trainer *t;
    rn_trainer_desc d;
    party_make(&p);
    memset(&d, 0, sizeof d);
    d.agents = AGENTS;
    d.envs = p.envs;
    d.policy = p.d.policy;
    ASSERT_EQ(RN_ERR_DESC, rn_trainer_create(&t, &d));
    ASSERT_EQ(RN_ERR_DESC, rn_trainer_explain(&d, text, sizeof text));
    ASSERT(begins_with(text, "server.gamma is 0 in round 1: "));
    d.server.gamma = rn_schedule_constant(0.1);
    ASSERT_EQ(RN_ERR_DESC, rn_trainer_explain(&d, text, sizeof text));
    ASSERT(begins_with(text, "server.eta is 0 in round 1: "));
    d.server.eta = rn_schedule_constant(0.1);
    ASSERT_EQ(RN_OK, rn_trainer_explain(&d, text, sizeof text));
    ASSERT(begins_with(text, "ok\nhint: method.discount is 0: "));
    PASS();
}

/* ---- the two halves: their fields have no "server." before them, and no agent's number */
TEST agents_and_servers_are_explained(void) {
    char text[SIZE];
    rn_agent_desc a;
    rn_server_desc s;
    rn_net_desc shape = rn_make_net_desc(4, 1);
    party_make(&p);
    memset(&a, 0, sizeof a);
    memset(&s, 0, sizeof s);
    a.env = p.envs[0];
    a.policy = p.d.policy;
    ASSERT_EQ(RN_OK, rn_agent_explain(&a, text, sizeof text));
    ASSERT(begins_with(text, "ok\nhint: method.discount is 0"));
    a.method.discount = 0.5;
    a.eta_min = 1.5;
    ASSERT_EQ(RN_ERR_DESC, rn_agent_explain(&a, text, sizeof text));
    ASSERT_STR_EQ("eta_min is 1.5: it is 0 .. 1", text);
    a.reach = nan_;
    ASSERT_EQ(RN_ERR_DESC, rn_agent_explain(&a, text, sizeof text));
    ASSERT_STR_EQ("reach is NaN: it is 0 or more", text);
    a.reach = a.eta_min = 0;
    shape.gaussian = 1;
    a.policy = rn_make_net_policy(&p.net, &shape);
    a.env.actions = 0;
    ASSERT_EQ(RN_OK, rn_agent_explain(&a, text, sizeof text));
    ASSERT(begins_with(text, "ok\nhint: the net's log_std is 0: "));
    a.policy.work_size = NULL; /* a policy of the host's: nothing is known of it */
    ASSERT_EQ(RN_OK, rn_agent_explain(&a, text, sizeof text));
    ASSERT_STR_EQ("ok", text);
    ASSERT_EQ(RN_ERR_ARG, rn_agent_explain(NULL, text, sizeof text));
    ASSERT_EQ(RN_ERR_ARG, rn_server_explain(NULL, text, sizeof text));
    ASSERT_EQ(RN_ERR_ARG, rn_server_explain(&s, text, sizeof text));
    ASSERT_STR_EQ("n is 0, dim is 0: rows and parameters, neither is 0", text);
    s.n = s.dim = 10;
    ASSERT_EQ(RN_ERR_DESC, rn_server_explain(&s, text, sizeof text));
    ASSERT(begins_with(text, "gamma is 0 in round 1: "));
    s.gamma = s.eta = rn_schedule_constant(0.1);
    s.agg.f = 5;
    ASSERT_EQ(RN_ERR_DESC, rn_server_explain(&s, text, sizeof text));
    ASSERT_STR_EQ("agg.f is 5: MDA survives at most 4 of 10, for n >= 2 f + 1", text);
    s.agg.f = 4;
    ASSERT_EQ(RN_OK, rn_server_explain(&s, text, sizeof text));
    ASSERT_STR_EQ("ok", text);
    PASS();
}

/* ---- and those of a federation across machines */
TEST hubs_and_peers_are_explained(void) {
    char text[SIZE];
    rn_hub_desc h;
    rn_peer_desc e;
    party_make(&p);
    h = rn_make_hub_desc(&p.d);
    e = rn_make_peer_desc(&p.d, 0, p.envs[0]);
    ASSERT_EQ(RN_OK, rn_hub_explain(&h, text, sizeof text));
    ASSERT_EQ(RN_OK, rn_peer_explain(&e, text, sizeof text));
    ASSERT_STR_EQ("ok", text);
    h.quorum = 11;
    ASSERT_EQ(RN_ERR_DESC, rn_hub_explain(&h, text, sizeof text));
    ASSERT_STR_EQ("quorum is 11: there are 10 peers (server.n)", text);
    h.quorum = 0;
    h.server.agg.f = 5;
    ASSERT_EQ(RN_ERR_DESC, rn_hub_explain(&h, text, sizeof text));
    ASSERT(begins_with(text, "server.agg.f is 5: "));
    h.server.dim = 7;
    ASSERT_EQ(RN_ERR_DESC, rn_hub_explain(&h, text, sizeof text));
    ASSERT(begins_with(text, "server.dim is 7, policy.dim is "));
    h.server.n = (size_t)-1;
    ASSERT_EQ(RN_ERR_SIZE, rn_hub_explain(&h, text, sizeof text));
    ASSERT(strstr(text, "sizes overflow"));
    e.index = (size_t)0xffffffffu;
    ASSERT_EQ(RN_ERR_SIZE, rn_peer_explain(&e, text, sizeof text));
    ASSERT_STR_EQ("index is 4294967295: it is below 4294967295", text);
    e.index = 0;
    e.agent.method.discount = 0;
    ASSERT_EQ(RN_OK, rn_peer_explain(&e, text, sizeof text));
    ASSERT(begins_with(text, "ok\nhint: method.discount is 0"));
    e.agent.eta_min = 1.5;
    ASSERT_EQ(RN_ERR_DESC, rn_peer_explain(&e, text, sizeof text));
    ASSERT_STR_EQ("eta_min is 1.5: it is 0 .. 1", text);
    ASSERT_EQ(RN_ERR_ARG, rn_hub_explain(NULL, text, sizeof text));
    ASSERT_EQ(RN_ERR_ARG, rn_peer_explain(NULL, text, sizeof text));
    PASS();
}

/* ---- the buffer: any size, NULL included; what fits is the beginning of the whole */
TEST words_stay_in_their_buffer(void) {
    char whole[SIZE], text[SIZE + 1];
    party_make(&p);
    for (int k = 0; k < 4; k++) {
        if (k == 1) p.d.server.agg.f = 5;
        if (k == 2) p.d.adversaries = 11;
        if (k == 3) { /* as long as a text gets */
            p.d.adversaries = 9;
            p.d.server.agg.f = 4;
            p.d.server.agg.rule = AGG_MEAN;
            p.d.method.discount = 0;
            p.d.server.gamma = rn_schedule_linear(1, 0, (size_t)-2);
            p.d.server.eta = rn_schedule_linear(1, 0, (size_t)-2);
        }
        rn_trainer_explain(&p.d, whole, sizeof whole);
        ASSERT(strlen(whole) + 1 < SIZE);
        for (size_t size = 0; size <= strlen(whole) + 1; size++) {
            memset(text, '~', sizeof text);
            rn_trainer_explain(&p.d, text, size);
            ASSERT_EQ('~', text[size]);
            if (!size) continue;
            ASSERT_EQ(size - 1 < strlen(whole) ? size - 1 : strlen(whole), strlen(text));
            ASSERT(begins_with(whole, text));
        }
        ASSERT_EQ(rn_trainer_explain(&p.d, whole, sizeof whole), rn_trainer_explain(&p.d, NULL, 9));
    }
    PASS();
}

/* ---- a schedule that has ended: progress says that theta stands */
TEST progress_says_that_theta_stands(void) {
    rn_trainer *t;
    party_make(&p);
    p.d.server.gamma = rn_schedule_linear(0.1, 0, 2);
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &p.d));
    ASSERT_EQ(0, rn_trainer_progress(t)->still); /* nothing has been done */
    for (size_t round = 1; round <= 4; round++) {
        ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
        ASSERT_EQ(round > 2, rn_trainer_progress(t)->still);
        ASSERT_EQ(round > 2, rn_trainer_progress(t)->gamma <= 0);
    }
    rn_trainer_destroy(t);
    PASS();
}

/* the recipes end above 0, so that a program without a last round goes on learning */
TEST recipes_do_not_end(void) {
    char text[SIZE];
    for (int k = 0; k < 2; k++) {
        const double least = k ? 0.02 : 0.001;
        rn_trainer_desc d;
        party_make(&p);
        d = k ? rn_make_tuned_trainer_desc(AGENTS, 3, p.envs, p.d.policy, 0)
              : rn_make_trainer_desc(AGENTS, 3, p.envs, p.d.policy);
        ASSERT_EQ(RN_OK, rn_trainer_explain(&d, text, sizeof text));
        ASSERT_STR_EQ("ok", text);
        ASSERT(rn_schedule_value(&d.server.gamma, 1000000) > least);
    }
    PASS();
}

static double wrong_value(void *self, size_t t) { return t == 2 ? *(double *)self : 0.5; }

/* a callback is judged when it answers: no update, and the status does not blame the rows */
TEST callbacks_out_of_range_make_no_step(void) {
    for (int k = 0; k < 4; k++) {
        static const double wrong[4] = {-1, -1, 2, 1e300};
        double value = wrong[k];
        rn_schedule *s;
        rn_trainer *t;
        party_make(&p);
        s = k ? &p.d.server.eta : &p.d.server.gamma;
        s->kind = RN_SCHEDULE_CALLBACK;
        s->at = wrong_value;
        s->self = &value;
        ASSERT_EQ(RN_OK, rn_trainer_create(&t, &p.d));
        ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
        ASSERT_EQ(RN_ERR_THETA, rn_trainer_run_round(t));
        ASSERT_EQ(1, rn_trainer_progress(t)->still);
        ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
        rn_trainer_destroy(t);
    }
    PASS();
}

SUITE(explanations) {
    RUN_TEST(rules_are_explained);
    RUN_TEST(nets_are_explained);
    RUN_TEST(trainers_are_explained);
    RUN_TEST(what_is_only_zeroed_is_told);
    RUN_TEST(agents_and_servers_are_explained);
    RUN_TEST(hubs_and_peers_are_explained);
    RUN_TEST(words_stay_in_their_buffer);
    RUN_TEST(progress_says_that_theta_stands);
    RUN_TEST(recipes_do_not_end);
    RUN_TEST(callbacks_out_of_range_make_no_step);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(explanations);
    GREATEST_MAIN_END();
}
