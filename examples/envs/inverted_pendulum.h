/* inverted_pendulum.h - MuJoCo's InvertedPendulum (Gym v2, v4): push a cart on a rail so that its
   pole stays up
   SPDX-License-Identifier: MIT OR Unlicense

       inverted_pendulum pole;                         // yours; plain data
       rn_env env = inverted_pendulum_env(&pole);      // 4 observations: x, angle, dx/dt, d angle/dt; 1 action, -3 .. 3

   The model of MuJoCo 2.2.2, simulated by planar.h: a cart of 10.5 kg on a rail of +-1 m, a pole of
   5 kg that leans by 0.1 degrees, friction, soft stops at the rail's ends and at +-90 degrees;
   inverted_pendulum_env_v2() has the masses of the -v2 tasks. 25 control steps a second, of two
   Runge-Kutta steps. One control step is within 1e-14 of MuJoCo's. Action: the cart is pushed with
   100 N times it, clamped to +-3; a NaN counts as 0. Reward: 1 for every step, the last one too.
   Ends: |angle| > 0.2 or anything not finite (terminated). It never truncates: Gym's limit of 1000
   steps is the horizon of the trainer and of the evaluation. */
#ifndef INVERTED_PENDULUM_H
#define INVERTED_PENDULUM_H
#include "planar.h"

typedef struct inverted_pendulum {
    double x, angle, v,
        spin; /* the cart's place; the pole's angle from upright, positive towards +x; their speeds */
    int v2;   /* masses of the -v2 tasks */
} inverted_pendulum;

/* clang-format off */
static const planar_model inverted_pendulum_model = {
    "inverted_pendulum", 2, 2, 0, /* joints, capsules, pairs of them */
    0, 2, 0.02, 0, -9.81, 3, /* Runge-Kutta, physics steps a control step, seconds, gravity, largest control */
    { 0.02, 0.9, 0.95, 0.001, 0 }, { 0.02, 0.9, 0.95, 0.001, 0 }, /* joints' stops, contacts */
    /* name, body, parent, kind, x, z, start, low, high, spring, damping, rotor, gear */
    { { "slider", "cart", -1, PLANAR_SLIDE_X, 0, 0, 0, -1,              1,             0, 1, 0, 100 },
      { "hinge",  "pole", 0,  PLANAR_HINGE,   0, 0, 0, PLANAR_DEG(-90), PLANAR_DEG(90), 0, 1, 0, 0 } },
    /* mass, centre, inertia, weight of the body, of the joint */
    { { { 10.471975511965979, 0,      0,   0.12671090369478843, 0.027891446019531956, 0.083674338058595865 },
        { 5.0185916413633063, 0.0005, 0.3, 0.18874976687308845, 0.049266895448250171, 2.023912919848819 } },
      { { 9.4247779607693811, 0,      0,   0.09424777960769383, 0.030821007583109197, 0.092463022749327592 },
        { 4.8953898966625768, 0.0005, 0.3, 0.17476749237246902, 0.051238753516553687, 2.1517474849212643 } } },
    /* name, joint, from, to, radius, friction */
    { { "cart",  0, -0.1,  0,   0.1, 0, 0.1,   0 },
      { "cpole", 1, 0.001, 0.6, 0,   0, 0.049, 0 } },
    { { 0, 0 } }
};
/* clang-format on */

PLANAR_BEGIN

/* one physics step */
PLANAR_TASK void inverted_pendulum_physics(int v2, double *q, double *v, const double *ctrl,
                                           planar_work *k) {
    planar_physics(&inverted_pendulum_model, inverted_pendulum_model.mass[v2 != 0], q, v, ctrl, k);
}

PLANAR_TASK rn_step_result inverted_pendulum_judge(const inverted_pendulum *p) {
    return p->angle <= 0.2 && p->angle >= -0.2 ? RN_RUNNING : RN_TERMINATED;
}

/* one control step: two physics steps */
PLANAR_TASK rn_step_result inverted_pendulum_move(inverted_pendulum *p, double ctrl) {
    const double act = planar_clamp(ctrl, 3);
    double q[2] = {p->x, p->angle}, v[2] = {p->v, p->spin};
    planar_work k;
    const int sane =
        planar_control(&inverted_pendulum_model, inverted_pendulum_physics, p->v2, q, v, &act, &k);
    p->x = q[0];
    p->angle = q[1];
    p->v = v[0];
    p->spin = v[1];
    return sane ? inverted_pendulum_judge(p) : RN_TERMINATED;
}

PLANAR_TASK void inverted_pendulum_observe(const inverted_pendulum *p, rn_real *obs) {
    obs[0] = (rn_real)p->x;
    obs[1] = (rn_real)p->angle;
    obs[2] = (rn_real)p->v;
    obs[3] = (rn_real)p->spin;
}

PLANAR_TASK void inverted_pendulum_reset(void *self, const agg_rng *rng, rn_real *obs) {
    inverted_pendulum *p = (inverted_pendulum *)self;
    p->x = 0.02 * rn_draw_uniform(rng) - 0.01;
    p->angle = 0.02 * rn_draw_uniform(rng) - 0.01;
    p->v = 0.02 * rn_draw_uniform(rng) - 0.01;
    p->spin = 0.02 * rn_draw_uniform(rng) - 0.01;
    inverted_pendulum_observe(p, obs);
}

PLANAR_TASK rn_step_result inverted_pendulum_step(void *self, const rn_real *act,
                                                  const agg_rng *rng, rn_real *obs,
                                                  double *reward) {
    inverted_pendulum *p = (inverted_pendulum *)self;
    const rn_step_result r = inverted_pendulum_move(p, (double)act[0]);
    (void)rng;
    inverted_pendulum_observe(p, obs);
    *reward = 1;
    return r;
}

PLANAR_TASK void inverted_pendulum_save(const void *self, void *bytes) {
    const inverted_pendulum *p = (const inverted_pendulum *)self;
    const double q[2] = {p->x, p->angle}, v[2] = {p->v, p->spin};
    planar_save(&inverted_pendulum_model, q, v, bytes);
}

/* refuses numbers beyond 1000 too, which no run reaches */
PLANAR_TASK int inverted_pendulum_load(void *self, const void *bytes) {
    inverted_pendulum *p = (inverted_pendulum *)self;
    double q[2], v[2];
    int i;
    if (!planar_load(&inverted_pendulum_model, q, v, bytes)) return 0;
    for (i = 0; i < 2; i++)
        if (q[i] > 1000 || q[i] < -1000 || v[i] > 1000 || v[i] < -1000) return 0;
    p->x = q[0];
    p->angle = q[1];
    p->v = v[0];
    p->spin = v[1];
    return 1;
}

PLANAR_TASK rn_env inverted_pendulum_env(inverted_pendulum *self) {
    rn_env e;
    memset(&e, 0, sizeof e);
    self->v2 = 0;
    e.self = self;
    e.reset = inverted_pendulum_reset;
    e.step = inverted_pendulum_step;
    e.obs_dim = 4;
    e.act_dim = 1;
    e.act_low = -3;
    e.act_high = 3;
    e.state_size = 32;
    e.save = inverted_pendulum_save;
    e.load = inverted_pendulum_load;
    return e;
}

PLANAR_TASK rn_env inverted_pendulum_env_v2(inverted_pendulum *self) {
    const rn_env e = inverted_pendulum_env(self);
    self->v2 = 1;
    return e;
}

PLANAR_END
#endif
