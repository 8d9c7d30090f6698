// An expression that a reader wrote, and its exact slope. It is parsed by the grammar below; nothing else can run.
// Every part is computed for all rows at once, as dual numbers: a column is { value, slope }, [B] each.
//
//   sum        product, then any number of + or - and another product
//   product    signed, then any number of * or / and another signed
//   signed     - signed, or power
//   power      atom, or atom ^ signed (** is the same)
//   atom       a number, a name, a function with its arguments, or a sum in parentheses
//   comparison sum < sum, and with > <= >= == != : the first argument of where

const TOKEN = /\s*(?:((?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)|([a-z_]\w*)|(\*\*|[<>=!]=|[-−+*/^(),<>])|(\S))/giy;
const SAME = new Map([["**", "^"], ["−", "-"]]);
const LONGEST = 400; // characters; a link could ask for a tower of parentheses
const COMPARED = {
  "<": (x, y) => x < y,
  "<=": (x, y) => x <= y,
  ">": (x, y) => x > y,
  ">=": (x, y) => x >= y,
  "==": (x, y) => x === y,
  "!=": (x, y) => x !== y,
};

/** f(x) with the slope f′(x)·x′. A slope of 0 stays 0 even where f′ is infinite, as a constant's does. */
function unary(f, derivative) {
  return (x) => rowwise(x, (r) => f(x.value[r]), (r) => times(x.slope[r], derivative(x.value[r])));
}

/** f(x, y) with the slope that `slope(x, y, x′, y′)` says. */
function binary(f, slope) {
  return (x, y) => {
    const [u, v] = [x.value, y.value];
    return rowwise(x, (r) => f(u[r], v[r]), (r) => slope(u[r], v[r], x.slope[r], y.slope[r]));
  };
}

function rowwise({ value: { length } }, value, slope) {
  const made = { value: new Float64Array(length), slope: new Float64Array(length) };
  for (let r = 0; r < length; r++) {
    made.value[r] = value(r);
    made.slope[r] = slope(r);
  }
  return made;
}

function times(slope, factor) {
  return slope === 0 ? 0 : slope * factor;
}

function powerSlope(x, y, dx, dy) {
  const byBase = y === 0 ? 0 : times(dx, y * x ** (y - 1));
  return byBase + (x === 0 && y >= 0 ? 0 : times(dy, x ** y * Math.log(x)));
}

/** Within the limits, and at them, the slope is x's. */
function clamped(x, low, high) {
  const [u, a, b] = [x.value, low.value, high.value];
  const nearest = (r) => (u[r] >= a[r] && u[r] <= b[r] ? x : u[r] > b[r] || b[r] < a[r] ? high : low);
  return rowwise(x, (r) => Math.min(Math.max(u[r], a[r]), b[r]), (r) => nearest(r).slope[r]);
}

function chosen(holds, x, y) {
  return rowwise(x, (r) => (holds[r] ? x : y).value[r], (r) => (holds[r] ? x : y).slope[r]);
}

const SUM = binary((x, y) => x + y, (x, y, dx, dy) => dx + dy);
const DIFFERENCE = binary((x, y) => x - y, (x, y, dx, dy) => dx - dy);
const PRODUCT = binary((x, y) => x * y, (x, y, dx, dy) => times(dx, y) + times(dy, x));
const QUOTIENT = binary((x, y) => x / y, (x, y, dx, dy) => times(dx, 1 / y) - times(dy, x / y / y));
const POWER = binary((x, y) => x ** y, powerSlope);
const NEGATIVE = unary((x) => -x, () => -1);

// Where PyTorch has a choice, this is PyTorch's: at a tie, min and max take half of either slope.
const FUNCTIONS = {
  min: [["a", "b"], binary(Math.min, (x, y, dx, dy) => (x < y ? dx : y < x ? dy : (dx + dy) / 2))],
  max: [["a", "b"], binary(Math.max, (x, y, dx, dy) => (x > y ? dx : y > x ? dy : (dx + dy) / 2))],
  clamp: [["x", "low", "high"], clamped],
  exp: [["x"], unary(Math.exp, Math.exp)],
  log: [["x"], unary(Math.log, (x) => 1 / x)],
  abs: [["x"], unary(Math.abs, Math.sign)],
  sign: [["x"], unary(Math.sign, () => 0)],
  where: [["a < b", "x", "y"], chosen],
};

/** The expression as a function: given a column under each of these names, its own. Throws an Error that says where. */
export function expression(text, names) {
  const parser = new Parser(text, names);
  const found = parser.sum();
  if (parser.next) parser.refuse(parser.next);
  return found;
}

/** Each method reads one part of the grammar, and returns a function from the names' columns to the part's. */
class Parser {
  constructor(text, names) {
    if (text.length > LONGEST) throw new Error(`this is too long: ${text.length} characters, and ${LONGEST} fit`);
    Object.assign(this, { names, tokens: tokens(text), at: 0 });
    if (!this.tokens.length) throw new Error(`there is nothing here yet; write something with ${names.join(", ")}`);
  }

  get next() {
    return this.tokens[this.at];
  }

  /** The next token if it is one of these. */
  take(...texts) {
    return this.next && texts.includes(this.next.text) ? this.tokens[this.at++] : null;
  }

  sum() {
    return this.chain(() => this.product(), { "+": SUM, "-": DIFFERENCE });
  }

  product() {
    return this.chain(() => this.signed(), { "*": PRODUCT, "/": QUOTIENT });
  }

  /** Parts with these operators between them, from left to right. */
  chain(part, operators) {
    let found = part();
    for (let sign; (sign = this.take(...Object.keys(operators))); ) {
      const [left, right, operator] = [found, part(), operators[sign.text]];
      found = (given) => operator(left(given), right(given));
    }
    return found;
  }

  signed() {
    if (!this.take("-")) return this.power();
    const part = this.signed();
    return (given) => NEGATIVE(part(given));
  }

  power() {
    const base = this.atom();
    if (!this.take("^")) return base;
    const exponent = this.signed();
    return (given) => POWER(base(given), exponent(given));
  }

  atom() {
    const token = this.tokens[this.at++];
    if (token?.number) return constant(Number(token.text));
    if (token?.name) return this.next?.text === "(" ? this.call(token) : this.column(token);
    if (token?.text === "(") {
      const inside = this.sum();
      this.close(token);
      return inside;
    }
    const before = this.tokens[this.at - 2];
    if (!token) throw new Error(`something is missing after ${said(before)}`);
    throw new Error(`a number or a name is missing before ${said(token)}`);
  }

  column({ text }) {
    if (this.names.includes(text)) return (given) => given[text];
    if (Object.hasOwn(FUNCTIONS, text)) throw new Error(`\`${text}\` is a function: write ${usage(text)}`);
    throw new Error(`\`${text}\` is not a name here: ${this.names.join(", ")}`);
  }

  call({ text }) {
    if (this.names.includes(text)) this.refuse(this.next);
    if (!Object.hasOwn(FUNCTIONS, text)) {
      throw new Error(`\`${text}\` is not a function here: ${Object.keys(FUNCTIONS).join(", ")}`);
    }
    const [open, [wanted, f]] = [this.take("("), FUNCTIONS[text]];
    const parts = this.next?.text === ")" ? [] : [text === "where" ? this.comparison() : this.sum()];
    while (this.take(",")) parts.push(this.sum());
    this.close(open);
    if (parts.length === wanted.length) return (given) => f(...parts.map((part) => part(given)));
    const count = `${wanted.length} value${wanted.length === 1 ? "" : "s"}`;
    throw new Error(`\`${text}\` takes ${count}, ${usage(text)}, not ${parts.length}`);
  }

  /** Whether it holds, by row. */
  comparison() {
    const left = this.sum();
    const sign = this.take(...Object.keys(COMPARED));
    if (!sign) throw new Error(`\`where\` begins with a comparison, as in where(advantage < 0, x, y)`);
    const [right, holds] = [this.sum(), COMPARED[sign.text]];
    return (given) => {
      const [x, y] = [left(given).value, right(given).value];
      return Uint8Array.from(x, (each, r) => (holds(each, y[r]) ? 1 : 0));
    };
  }

  close(open) {
    if (this.take(")")) return;
    if (!this.next) throw new Error(`${said(open)} is never closed`);
    this.refuse(this.next);
  }

  /** Say why this token cannot stand where it stands, behind a part that is complete. */
  refuse(token) {
    if (token.text === ")") throw new Error(`${said(token)} closes nothing`);
    if (token.text === ",") throw new Error(`${said(token)} is not between the arguments of a function`);
    if (Object.hasOwn(COMPARED, token.text)) {
      throw new Error(`${said(token)} compares, and only where(a < b, x, y) begins with a comparison`);
    }
    throw new Error(`an operator is missing before ${said(token)}: + - * / ^`);
  }
}

function tokens(text) {
  const found = [];
  for (const [whole, number, name, sign, other] of text.trimEnd().matchAll(TOKEN)) {
    const at = (found.at(-1)?.end ?? 0) + whole.length;
    const written = number ?? name ?? sign ?? other;
    const kind = { number: Boolean(number), name: Boolean(name) };
    const token = { text: SAME.get(written) ?? written, written, end: at, ...kind };
    if (other) throw new Error(`${said(token)} means nothing here`);
    found.push(token);
  }
  return found;
}

/** A token with its place, if it is a sign of which there may be many. */
function said({ written, number, name, end }) {
  return number || name ? `\`${written}\`` : `the \`${written}\` at character ${end - written.length + 1}`;
}

function usage(name) {
  return `${name}(${FUNCTIONS[name][0].join(", ")})`;
}

function constant(number) {
  return (given) => rowwise(Object.values(given)[0], () => number, () => 0);
}
