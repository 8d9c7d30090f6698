// Adam. Kingma & Ba 2014, arXiv:1412.6980, algorithm 1.

const [BETA1, BETA2] = [0.9, 0.999];

/** θ ← θ − α·m̂/(√v̂ + ε),  m̂ = m/(1 − β₁ᵗ),  v̂ = v/(1 − β₂ᵗ), over a list of parameters. */
export class Adam {
  /** Given the gradient's norm, the factor that shortens it before each step; null leaves it as it is. */
  limit = null;

  constructor(parameters, eps) {
    Object.assign(this, { parameters, eps, t: 0 });
    this.m = parameters.map(({ value }) => new Float64Array(value.length));
    this.v = parameters.map(({ value }) => new Float64Array(value.length));
  }

  /** Step down the gradients, if `moving`. Returns their norm; if that is not finite, there is no step. */
  move(learningRate, moving) {
    let squares = 0;
    for (const { gradient } of this.parameters) for (let k = 0; k < gradient.length; k++) squares += gradient[k] ** 2;
    const norm = Math.sqrt(squares);
    const factor = this.limit ? this.limit(norm) : 1;
    if (moving && Number.isFinite(norm)) this.step(learningRate, factor);
    return norm;
  }

  step(learningRate, factor) {
    this.t++;
    const root = Math.sqrt(1 - BETA2 ** this.t);
    const [rate, eps] = [(learningRate * root) / (1 - BETA1 ** this.t), this.eps * root];
    for (let p = 0; p < this.parameters.length; p++) {
      const { value, gradient } = this.parameters[p];
      const [m, v] = [this.m[p], this.v[p]];
      for (let k = 0; k < value.length; k++) {
        const g = factor * gradient[k];
        m[k] += (1 - BETA1) * (g - m[k]);
        v[k] += (1 - BETA2) * (g * g - v[k]);
        value[k] -= (rate * m[k]) / (Math.sqrt(v[k]) + eps);
      }
    }
  }
}
