/* Uses resnharpg.h, for tests/strict/run.sh; see aggregators.c beside this file for the macros. */
#include "resnharpg.h"
#ifndef STRICT_USER
#ifndef RESNHARPG_IMPLEMENTATION /* also given on the command line */
#define RESNHARPG_IMPLEMENTATION
#endif
#include "resnharpg.h"
#endif
#include "resnharpg.h"

#ifdef STRICT_UNUSED
int main(void) { return 0; }
#elif !defined(STRICT_IMPLEMENTATION_ONLY)
static void reset(void *self, const agg_rng *rng, rn_real *obs) {
    (void)self;
    (void)rng;
    obs[0] = 0;
}

static rn_step_result step(void *self, const rn_real *act, const agg_rng *rng, rn_real *obs,
                           double *reward) {
    (void)self;
    (void)rng;
    obs[0] = 0;
    *reward = act[0] > 0 ? 1 : 0;
    return RN_TERMINATED;
}

int main(void) {
    static rn_env envs[3];
    static char memory[1 << 20];
    rn_table table;
    rn_trainer *trainer = NULL;
    rn_trainer_desc desc;
    for (int i = 0; i < 3; i++) {
        envs[i].reset = reset;
        envs[i].step = step;
        envs[i].obs_dim = envs[i].act_dim = 1;
        envs[i].actions = 2;
    }
    desc = rn_make_trainer_desc(3, 1, envs, rn_make_table_policy(&table, 1, 2));
    desc.method.horizon = 1;
    if (rn_trainer_init(&trainer, &desc, memory, sizeof memory) != RN_OK) return 1;
    if (rn_trainer_run_round(trainer) != RN_OK) return 2;
    return rn_trainer_rounds_done(trainer) == 1 ? 0 : 3;
}
#endif
