/* inverted_pendulum.h - MuJoCo's InvertedPendulum (Gym v2, v4): push a cart on a rail so that its
   pole stays up
   SPDX-License-Identifier: MIT OR Unlicense

       inverted_pendulum pole;                         // yours; plain data
       rn_env env = inverted_pendulum_env(&pole);      // 4 observations, 1 action, -3 .. 3

   The model of MuJoCo 2.2.2, simulated by planar.h: a cart of 10.5 kg on a rail of +-1 m, a pole of
   5 kg that leans by 0.1 degrees, friction, soft stops at the rail's ends and at +-90 degrees;
   inverted_pendulum_env_v2() has the masses of the -v2 tasks. 25 control steps a second, of two
   Runge-Kutta steps. One control step is within 1e-14 of MuJoCo's.
   Observation: x, angle, dx/dt, d angle/dt.
   Action: the cart is pushed with 100 N times it, clamped to +-3; a NaN counts as 0.
   Reward: 1 for every step, the last one too.
   Terminated: |angle| > 0.2 or anything not finite. It never truncates: Gym's limit of 1000 steps
   is the horizon of the trainer and of the evaluation. */
#ifndef INVERTED_PENDULUM_H
#define INVERTED_PENDULUM_H
#include "planar.h"

/* q: the cart's place; the pole's angle from upright, positive towards +x */
typedef planar_body inverted_pendulum;

/* clang-format off */
static const planar_model inverted_pendulum_model = {
    "inverted_pendulum", 2, 2, 0, /* joints, capsules, pairs of them */
    /* Runge-Kutta, physics steps a control step, seconds, gravity, largest control */
    0, 2, 0.02, 0, -9.81, 3,
    {0.02, 0.9, 0.95, 0.001, 0}, {0.02, 0.9, 0.95, 0.001, 0}, /* joints' stops, contacts */
    /* name, body, parent, kind, x, z, start, low, high, spring, damping, rotor, gear */
    {{"slider", "cart", -1, PLANAR_SLIDE_X, 0, 0, 0, -1,              1,              0, 1, 0, 100},
     {"hinge",  "pole", 0,  PLANAR_HINGE,   0, 0, 0, PLANAR_DEG(-90), PLANAR_DEG(90), 0, 1, 0, 0}},
    /* mass, centre, inertia, weight of the body, of the joint */
    {{{10.47197551196598, 0, 0, 0.12671090369478843, 0.027891446019531956, 0.08367433805859587},
      {5.018591641363306, 0.0005, 0.3, 0.18874976687308845,
       0.04926689544825017, 2.023912919848819}},
     {{9.424777960769381, 0, 0, 0.09424777960769383, 0.030821007583109197, 0.09246302274932759},
      {4.895389896662577, 0.0005, 0.3, 0.17476749237246902,
       0.05123875351655369, 2.1517474849212643}}},
    /* name, joint, from, to, radius, friction */
    {{"cart",  0, -0.1,  0,   0.1, 0, 0.1,   0},
     {"cpole", 1, 0.001, 0.6, 0,   0, 0.049, 0}},
    {{0, 0}}};
/* clang-format on */

ENV_BEGIN

ENV_FN void inverted_pendulum_physics(int v2, double *q, double *v, const double *ctrl,
                                      planar_work *k) {
    planar_physics(&inverted_pendulum_model, inverted_pendulum_model.mass[v2 != 0], q, v, ctrl, k);
}

ENV_FN void inverted_pendulum_observe(const planar_body *p, rn_real *obs) {
    obs[0] = (rn_real)p->q[0];
    obs[1] = (rn_real)p->q[1];
    obs[2] = (rn_real)p->v[0];
    obs[3] = (rn_real)p->v[1];
}

ENV_FN rn_step_result inverted_pendulum_judge(const planar_body *p, double x, const double *act,
                                              double *reward) {
    (void)x;
    (void)act;
    *reward = 1;
    return p->q[1] <= 0.2 && p->q[1] >= -0.2 ? RN_RUNNING : RN_TERMINATED;
}

/* clang-format off */
static const planar_task inverted_pendulum_task = {
    &inverted_pendulum_model, inverted_pendulum_physics, NULL,
    inverted_pendulum_observe, inverted_pendulum_judge,
    4, 0.01, 0.01, 0, /* observations; noise at the start: positions, speeds, both uniform */
    1, 1, 1000        /* actions clamped first; 1 for a refused step; no run comes near 1000 */
};
/* clang-format on */

ENV_FN rn_env inverted_pendulum_env(inverted_pendulum *self) {
    return planar_env(self, &inverted_pendulum_task, 0);
}

ENV_FN rn_env inverted_pendulum_env_v2(inverted_pendulum *self) {
    return planar_env(self, &inverted_pendulum_task, 1);
}

ENV_END
#endif
