/* half_cheetah.h - MuJoCo's HalfCheetah (Gym v2, v4): a trunk, a head and two legs of three joints,
   to run forward
   SPDX-License-Identifier: MIT OR Unlicense

       half_cheetah c;                         // yours; plain data
       rn_env env = half_cheetah_env(&c);      // 17 observations, 6 actions, -1 .. 1

   The model of MuJoCo 2.2.2, simulated by planar.h; half_cheetah_env_v2() has the masses of the -v2
   tasks. 20 control steps a second, of five Euler steps. Joints have springs.
   Observation: positions but x (height above 0.7, angle of the trunk, back thigh, shin, foot, front
   ones), then the nine speeds. Action: 120, 90, 60 Nm times it on the back leg, 120, 60, 30 Nm on
   the front leg, clamped to +-1. Reward: speed - 0.1 |action|^2, of the action as given. It never
   ends, falls included; only an action that is not finite terminates, with reward 0. Gym's limit of
   1000 steps is the horizon of the trainer and of the evaluation. */
#ifndef HALF_CHEETAH_H
#define HALF_CHEETAH_H
#include "planar.h"

typedef struct half_cheetah {
    double q[9],
        v[9]; /* x, z - 0.7, angle, back thigh, shin, foot, front thigh, shin, foot; their speeds */
    int v2;   /* masses of the -v2 tasks */
} half_cheetah;

/* clang-format off */
static const planar_model half_cheetah_model = {
    "half_cheetah", 9, 8, 0, /* joints, capsules, pairs of them */
    1, 5, 0.01, 0, -9.81, 1, /* Euler, physics steps a control step, seconds, gravity, largest control */
    { 0.02, 0, 0.8, 0.03, 0 }, { 0.02, 0, 0.8, 0.01, 0 }, /* joints' stops, contacts */
    /* name, body, parent, kind, x, z, start, low, high, spring, damping, rotor, gear */
    { { "rootx",  NULL,     -1, PLANAR_SLIDE_X, 0,     0,     0, 0,      0,     0,   0,   0,   0 },
      { "rootz",  NULL,     0,  PLANAR_SLIDE_Z, 0,     0.7,   0, 0,      0,     0,   0,   0,   0 },
      { "rooty",  "torso",  1,  PLANAR_HINGE,   0,     0,     0, 0,      0,     0,   0,   0,   0 },
      { "bthigh", "bthigh", 2,  PLANAR_HINGE,   -0.5,  0,     0, -0.52,  1.05,  240, 6,   0.1, 120 },
      { "bshin",  "bshin",  3,  PLANAR_HINGE,   0.16,  -0.25, 0, -0.785, 0.785, 180, 4.5, 0.1, 90 },
      { "bfoot",  "bfoot",  4,  PLANAR_HINGE,   -0.28, -0.14, 0, -0.4,   0.785, 120, 3,   0.1, 60 },
      { "fthigh", "fthigh", 2,  PLANAR_HINGE,   0.5,   0,     0, -1,     0.7,   180, 4.5, 0.1, 120 },
      { "fshin",  "fshin",  6,  PLANAR_HINGE,   -0.14, -0.24, 0, -1.2,   0.87,  120, 3,   0.1, 60 },
      { "ffoot",  "ffoot",  7,  PLANAR_HINGE,   0.13,  -0.18, 0, -0.5,   0.5,   60,  1.5, 0.1, 30 } },
    /* mass, centre, inertia, weight of the body, of the joint */
    { { { 0, 0, 0, 0, 0, 0.10673572816871127 },
        { 0, 0, 0, 0, 0, 0.084592291610687126 },
        { 6.2502092050209201, 0.15238987816307403, 0.025398313027179008, 0.89711768811174342,
          0.064157519456102735, 0.4163470619857747 },
        { 1.5435146443514645, 0.1, -0.13, 0.01684433958158996, 0.096911015609631446, 2.7297886448848923 },
        { 1.5874476987447697, -0.14, -0.07, 0.018267419079497912, 0.12720922534654558, 5.8932489841629057 },
        { 1.0953974895397491, 0.03, -0.097, 0.0063524232635983275, 0.24374928349017175, 8.8948770040546759 },
        { 1.4380753138075317, -0.07, -0.12, 0.013739643347280341, 0.081483794813670754, 3.0813926054768763 },
        { 1.2008368200836821, 0.065, -0.09, 0.0082221086192468609, 0.13199681790077375, 6.8827959622757717 },
        { 0.8845188284518829, 0.045, -0.07, 0.0035291094560669458, 0.2661441029233888, 9.4681349627697635 } },
      { { 0, 0, 0, 0, 0, 0.10600081966440701 },
        { 0, 0, 0, 0, 0, 0.084237518245883394 },
        { 6.3603133159268932, 0.14913793103448272, 0.02485632183908046, 0.8944536067044806,
          0.063779095829449586, 0.41980363359256562 },
        { 1.5352480417754566, 0.1, -0.13, 0.01525575979112271, 0.097008840621912729, 2.7529190545331281 },
        { 1.5809399477806787, -0.14, -0.07, 0.016608301131418621, 0.12844422301443004, 5.9481200337781566 },
        { 1.0691906005221932, 0.03, -0.097, 0.0054443185378590057, 0.24839237287746033, 8.963902704255732 },
        { 1.4255874673629243, -0.07, -0.12, 0.01231850130548303, 0.081914750779332204, 3.1259593999961588 },
        { 1.1788511749347259, 0.065, -0.09, 0.007162699738903394, 0.13451145188193733, 6.9599896677817412 },
        { 0.84986945169712791, 0.045, -0.07, 0.0028997545691906001, 0.27387402970798846, 9.5179338517747833 } } },
    /* name, joint, from, to, radius, friction */
    { { "torso", 2, 0.5, 0, -0.5, 0, 0.046, 0.4 },
      { "head", 2, 0.4853506594461742, 0.0032760179139998263, 0.7146493405538257, 0.19672398208600017, 0.046, 0.4 },
      { "bthigh", 3, 0.011280605813305769, -0.015309681772409586, 0.18871939418669426, -0.2446903182275904, 0.046, 0.4 },
      { "bshin", 4, -0.005539138827266005, -0.003514837650143668, -0.27446086117273405, -0.13648516234985636, 0.046, 0.4 },
      { "bfoot", 5, 0.05507275504875012, -0.1875944642583937, 0.004927244951249875, -0.006405535741606308, 0.046, 0.4 },
      { "fthigh", 6, -0.136085058333217, -0.23541995089712742, -0.003914941666783009, -0.004580049102872574, 0.046, 0.4 },
      { "fshin", 7, 0.12485210217987375, -0.1774855751804259, 0.005147897820126264, -0.0025144248195741042, 0.046, 0.4 },
      { "ffoot", 8, 0.08452497313765248, -0.1277734930436775, 0.005475026862347528, -0.012226506956322526, 0.046, 0.4 } },
    { { 0, 0 } }
};
/* clang-format on */

PLANAR_BEGIN

/* one physics step */
PLANAR_TASK void half_cheetah_physics(int v2, double *q, double *v, const double *ctrl,
                                      planar_work *k) {
    planar_physics(&half_cheetah_model, half_cheetah_model.mass[v2 != 0], q, v, ctrl, k);
}

/* of the state after a step with `act` that began at x */
PLANAR_TASK rn_step_result half_cheetah_judge(const half_cheetah *c, double x, const double *act,
                                              double *reward) {
    *reward = (c->q[0] - x) / (0.01 * 5) - 0.1 * planar_effort(act, 6);
    return RN_RUNNING;
}

PLANAR_TASK rn_step_result half_cheetah_move(half_cheetah *c, const double *act, double *reward) {
    const double x = c->q[0];
    planar_work k;
    *reward = 0;
    if (!planar_control(&half_cheetah_model, half_cheetah_physics, c->v2, c->q, c->v, act, &k))
        return RN_TERMINATED;
    return half_cheetah_judge(c, x, act, reward);
}

PLANAR_TASK void half_cheetah_observe(const half_cheetah *c, rn_real *obs) {
    int i;
    for (i = 0; i < 8; i++) obs[i] = (rn_real)c->q[i + 1];
    for (i = 0; i < 9; i++) obs[i + 8] = (rn_real)c->v[i];
}

PLANAR_TASK void half_cheetah_reset(void *self, const agg_rng *rng, rn_real *obs) {
    half_cheetah *c = (half_cheetah *)self;
    planar_rest(&half_cheetah_model, c->q, c->v);
    planar_uniform(&half_cheetah_model, rng, 0.1, c->q);
    planar_normal(&half_cheetah_model, rng, 0.1, c->v);
    half_cheetah_observe(c, obs);
}

PLANAR_TASK rn_step_result half_cheetah_step(void *self, const rn_real *act, const agg_rng *rng,
                                             rn_real *obs, double *reward) {
    half_cheetah *c = (half_cheetah *)self;
    double ctrl[6];
    rn_step_result r;
    int i;
    for (i = 0; i < 6; i++) ctrl[i] = (double)act[i];
    r = half_cheetah_move(c, ctrl, reward);
    (void)rng;
    half_cheetah_observe(c, obs);
    return r;
}

PLANAR_TASK void half_cheetah_save(const void *self, void *bytes) {
    planar_save(&half_cheetah_model, ((const half_cheetah *)self)->q,
                ((const half_cheetah *)self)->v, bytes);
}

PLANAR_TASK int half_cheetah_load(void *self, const void *bytes) {
    return planar_load(&half_cheetah_model, ((half_cheetah *)self)->q, ((half_cheetah *)self)->v,
                       bytes);
}

PLANAR_TASK rn_env half_cheetah_env(half_cheetah *self) {
    rn_env e;
    memset(&e, 0, sizeof e);
    self->v2 = 0;
    e.self = self;
    e.reset = half_cheetah_reset;
    e.step = half_cheetah_step;
    e.obs_dim = 17;
    e.act_dim = 6;
    e.act_low = -1;
    e.act_high = 1;
    e.state_size = 16 * 9;
    e.save = half_cheetah_save;
    e.load = half_cheetah_load;
    return e;
}

PLANAR_TASK rn_env half_cheetah_env_v2(half_cheetah *self) {
    const rn_env e = half_cheetah_env(self);
    self->v2 = 1;
    return e;
}

PLANAR_END
#endif
