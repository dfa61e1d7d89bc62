// The landmarks of BlazePose, in its order.
#ifndef EXAMPLES_POSE_SKELETON_H
#define EXAMPLES_POSE_SKELETON_H

/// Left and right are the person's.
inline constexpr const char* kLandmarkNames[] = {"nose",
                                                 "left eye (inner)",
                                                 "left eye",
                                                 "left eye (outer)",
                                                 "right eye (inner)",
                                                 "right eye",
                                                 "right eye (outer)",
                                                 "left ear",
                                                 "right ear",
                                                 "mouth (left)",
                                                 "mouth (right)",
                                                 "left shoulder",
                                                 "right shoulder",
                                                 "left elbow",
                                                 "right elbow",
                                                 "left wrist",
                                                 "right wrist",
                                                 "left pinky",
                                                 "right pinky",
                                                 "left index",
                                                 "right index",
                                                 "left thumb",
                                                 "right thumb",
                                                 "left hip",
                                                 "right hip",
                                                 "left knee",
                                                 "right knee",
                                                 "left ankle",
                                                 "right ankle",
                                                 "left heel",
                                                 "right heel",
                                                 "left foot index",
                                                 "right foot index"};

/// Which landmarks lines join.
inline constexpr int kBones[][2] = {
    {0, 1},   {1, 2},   {2, 3},   {3, 7},   {0, 4},   {4, 5},   {5, 6},   {6, 8},   {9, 10},
    {11, 12}, {11, 13}, {13, 15}, {15, 17}, {15, 19}, {15, 21}, {17, 19}, {12, 14}, {14, 16},
    {16, 18}, {16, 20}, {16, 22}, {18, 20}, {11, 23}, {12, 24}, {23, 24}, {23, 25}, {24, 26},
    {25, 27}, {26, 28}, {27, 29}, {28, 30}, {29, 31}, {30, 32}, {27, 31}, {28, 32}};

#endif  // EXAMPLES_POSE_SKELETON_H
