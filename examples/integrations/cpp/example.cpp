// Both headers from C++, linked to the shared library: RAII and exceptions by resnharpg.hpp.
//     make shared && c++ -std=c++11 -I. examples/integrations/cpp/example.cpp -Lbuild/shared
//         -Wl,-rpath,$PWD/build/shared -lresnharpg -o example && ./example
#include "resnharpg.hpp"
#include <iostream>

namespace {
class Middle { // somebody stands at x, sees x, and is to find the middle: a step left or right
  public:
    enum { OBS = 1, ACTIONS = 2 };

    void reset(const agg_rng &rng, rn_real *obs) {
        x_ = 2 * rn_draw_uniform(&rng) - 1;
        obs[0] = static_cast<rn_real>(x_);
    }

    rn_step_result step(int act, rn_real *obs, double &reward) {
        x_ += act ? 0.1 : -0.1;
        obs[0] = static_cast<rn_real>(x_);
        reward = -x_ * x_;
        return RN_RUNNING;
    }

  private:
    double x_ = 0;
};

bool refuses(rn_trainer_desc desc) {
    desc.server.agg.f = 5;
    try {
        rn::trainer impossible(desc);
    } catch (const std::invalid_argument &e) {
        std::cout << "five of ten: " << e.what() << "\n";
        return true;
    }
    return false;
}
} // namespace

int main() {
    std::vector<Middle> tasks(10);
    std::vector<rn_env> envs;
    Middle trial;
    rn_net net;
    for (Middle &task : tasks) envs.push_back(rn::make_env(task));
    rn_net_desc shape = rn_make_net_desc(Middle::OBS, Middle::ACTIONS);
    shape.hidden[0] = 8;
    rn_trainer_desc desc =
        rn_make_trainer_desc(10, 3, envs.data(), rn_make_net_policy(&net, &shape));
    desc.method.horizon = 20;
    desc.adversaries = 3;
    try {
        rn::trainer trainer(desc);
        const double before = trainer.evaluate(trial);
        trainer.run(100);
        const double after = trainer.evaluate(trial);
        std::cout << "return " << before << " before, " << after << " after\n";
        return refuses(desc) && after > -5 ? 0 : 1;
    } catch (const std::exception &e) {
        std::cerr << e.what() << "\n";
        return 1;
    }
}
