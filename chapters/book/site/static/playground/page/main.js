// What a page has of the playground: the large one, or small ones in a chapter.

import { Curve } from "./curve.js";
import { PRESETS } from "./own.js";
import { Page } from "./playground_page.js";
import { RATES } from "./rates.js";
import { WORDS, riddle } from "./riddle.js";
import { Small } from "./small.js";
import { interval, welch } from "./stats.js";

Book.playground = { Curve, PRESETS, RATES, Small, WORDS, interval, riddle, welch }; // for tests
const large = document.getElementById("playground");
if (large) new Page(large);
for (const small of document.querySelectorAll(".train-here")) new Small(small);
