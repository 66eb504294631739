"use strict";
// Counts checks: one PASS or FAIL line each, and a closing line that totals them.

class Report {
  constructor() {
    this.passed = 0;
    this.failed = 0;
  }

  /**
   * Runs fn as one check. What it throws is a failure, and so is taking longer
   * than the limit; a text that it returns ends the PASS line.
   */
  async check(name, fn, seconds = 30) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not done within ${seconds} s`)), seconds * 1000);
    });
    try {
      const note = await Promise.race([fn(), late]);
      this.passed++;
      console.log(`PASS ${name}${note ? `: ${note}` : ""}`);
      return true;
    } catch (err) {
      this.failed++;
      const place = /\((?:.*\/)?((?!report)[a-z]+\.js:\d+):\d+\)/.exec(
        String(err.stack).split("\n").filter((l) => !l.includes("node_modules") && !l.includes("expect")).join("\n"),
      );
      console.log(`FAIL ${name}: ${String(err.message).replaceAll("\n", "; ")}${place ? ` (${place[1]})` : ""}`);
      return false;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Prints the closing line and gives the exit code. */
  close() {
    console.log(`${this.passed} passed, ${this.failed} failed`);
    return this.failed === 0 && this.passed > 0 ? 0 : 1;
  }
}

function expect(condition, text) {
  if (!condition) {
    throw new Error(text);
  }
}

module.exports = { Report, expect };
