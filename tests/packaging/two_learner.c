/* the file with the implementation */
#define RESNHARPG_IMPLEMENTATION
#include "two.h"

static void reset(void *self, const agg_rng *rng, rn_real *obs) {
    (void)rng;
    ((coin *)self)->flips = 0;
    obs[0] = 0;
}

static rn_step_result step(void *self, const rn_real *act, const agg_rng *rng, rn_real *obs,
                           double *reward) {
    (void)rng;
    obs[0] = 0;
    *reward = act[0] > 0 ? 1 : 0;
    return ++((coin *)self)->flips == 5 ? RN_TERMINATED : RN_RUNNING;
}

rn_env coin_env(coin *c) {
    rn_env e;
    memset(&e, 0, sizeof e);
    e.self = c;
    e.reset = reset;
    e.step = step;
    e.obs_dim = e.act_dim = 1;
    e.actions = 2;
    return e;
}

rn_trainer *make_learner(coin *coins, size_t n, rn_table *table, rn_status *status) {
    rn_env envs[16]; /* copied by the trainer */
    rn_trainer *trainer = NULL;
    rn_trainer_desc d;
    for (size_t i = 0; i < n && i < 16; i++) envs[i] = coin_env(&coins[i]);
    d = rn_make_trainer_desc(n < 16 ? n : 16, 1, envs, rn_make_table_policy(table, 1, 2));
    d.adversaries = 1;
    *status = rn_trainer_create(&trainer, &d);
    return trainer;
}
