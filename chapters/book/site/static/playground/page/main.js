// What a page has of the playground: the large one, or small ones in a chapter.

import { Page } from "./playground_page.js";
import { Small } from "./small.js";

const large = document.getElementById("playground");
if (large) new Page(large);
for (const small of document.querySelectorAll(".train-here")) new Small(small);
