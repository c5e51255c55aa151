// A program that uses every entry of the package. It is compiled and never run.

import { Agent, type AgentEvent, type Review } from "emend";
import { bindBuffer } from "emend/bind";
import { load as loadEdit } from "emend/edit";
import { defineReview } from "emend/elements";
import { memoryFs } from "emend/fs";
import { indexed, type SearchIndex } from "emend/index";
import { Agent as InlineAgent } from "emend/inline";
import { Client, load as loadLlm } from "emend/llm";
import { fileStore, fromDirectory, nodeFs } from "emend/node";
import { type Outline, outlineOf, outlineTool } from "emend/outline";
import { useAgent, useReview } from "emend/react";
import { createService } from "emend/service";
import { createClient } from "emend/service-client";
import { WorkerAgent } from "emend/worker";
import "emend/worker-host";

const agent: Agent = await Agent.create({ files: await fromDirectory("."), store: fileStore("sessions") });
const events: AgentEvent[] = [];
for await (const event of agent.run("rename colour to color")) events.push(event);
const review: Review = agent.review();
console.log(review.files.flatMap((file) => file.hunks.map((hunk) => hunk.id)));
console.log((await loadEdit()).diff("a\n", "b\n").length, bindBuffer, defineReview, Client, loadLlm);
console.log(createService, createClient, useAgent, useReview, InlineAgent === Agent, memoryFs, nodeFs, WorkerAgent);
const outline: Outline = await outlineOf("a.rs", "fn a() {}\n");
const index: SearchIndex | undefined = indexed(nodeFs(".")).searchIndex;
console.log(outline.symbols[0]?.name, index?.filesMin, outlineTool(() => agent.files).name);
